// What plan.cpp needs of problem.cpp.
#pragma once
#include <ridge/gemm/layout.hpp>

namespace ridge::gemm_detail {

// The problem with the layout of every tensor that takes part; missing ones are packed and aligned.
GemmProblem with_operands(GemmProblem);

// Whether the contract allows the problem. Precondition: with_operands().
Status validate(const GemmProblem&);

}  // namespace ridge::gemm_detail
