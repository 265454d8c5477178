// What plan.cpp knows of histogram.cu: one launch() per backend, and the types that are instantiated.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/histogram/histogram.hpp>

namespace ridge::histogram_detail {

// i8 shares the kernels of u8: bytes are counted by value, and the sign matters only when values are sorted into bins.
using SampleTypes = TypeList<std::uint8_t, float, half, bfloat16, double, std::int32_t, std::int64_t>;

// Preconditions: the pointers are as the plan's problem says. Every count is written, also where there are no samples.
template <class Backend> Status launch(const HistogramPlan&, const void* x, void* counts, Stream);

}  // namespace ridge::histogram_detail
