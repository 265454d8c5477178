// The interface of histogram.cu for plan.cpp: one launch() per backend, and the instantiated types.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/histogram/histogram.hpp>

namespace ridge::histogram_detail {

// i8 shares the kernels of u8: bytes are counted by value, and the sign matters only when values are mapped to bins.
using SampleTypes = TypeList<std::uint8_t, float, half, bfloat16, double, std::int32_t, std::int64_t>;

// Preconditions: the pointers match the plan's problem. Every count is written, even without samples.
template <class Backend> Status launch(const HistogramPlan&, const void* x, void* counts, Stream);

}  // namespace ridge::histogram_detail
