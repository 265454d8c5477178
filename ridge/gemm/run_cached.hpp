// What linear.cpp knows of plan.cpp.
#pragma once
#include <ridge/gemm/gemm.hpp>

namespace ridge::gemm_detail {

// As gemm(), whose sentence the caller may put in its own names: of a plan from this thread's cache.
Status run_cached(const GemmTensors&, const GemmScalars&, Stream);

}  // namespace ridge::gemm_detail
