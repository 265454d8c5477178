// What plan.cpp knows of problem.cpp.
#pragma once
#include <ridge/gemm/layout.hpp>

namespace ridge::gemm_detail {

// The problem with every tensor that takes part described; those that were not are packed and aligned.
GemmProblem with_operands(GemmProblem);

// Whether the contract takes it. Precondition: with_operands().
Status validate(const GemmProblem&);

GemmLayout layout_of(const GemmProblem&);

}  // namespace ridge::gemm_detail
