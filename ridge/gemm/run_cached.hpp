// What linear.cpp needs of plan.cpp.
#pragma once
#include <ridge/gemm/gemm.hpp>

namespace ridge::gemm_detail {

// As gemm(), with a plan from this thread's cache; returns the error, so that the caller may rename it.
Status run_cached(const GemmTensors&, const GemmScalars&, Stream);

}  // namespace ridge::gemm_detail
