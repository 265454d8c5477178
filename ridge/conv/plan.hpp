// What plan.cpp asks of the files beside it. All of it is pure: no CUDA call, no global.
#pragma once
#include <ridge/conv/variants.hpp>
#include <ridge/roofline/predict.hpp>

#include <string>

namespace ridge::conv_detail {

// problem.cpp: whether the contract takes it.
Status validate(const ConvProblem&);

// fits.cpp: why this row cannot run this problem on this device; empty: it can. Precondition: validate().
std::string fits(const Variant&, const ConvProblem&, const DeviceInfo&);

// cost.cpp: the row's kernels as the model of their time sees them, and into how many slices (slices.hpp) it cuts its
// products in the least time. Precondition: it fits.
roofline::Kernel kernel_of(const Variant&, const ConvProblem&, const DeviceInfo&, int slices);
int slices_of(const Variant&, const ConvProblem&, const DeviceInfo&);

constexpr double real(std::int64_t n) { return static_cast<double>(n); }

}  // namespace ridge::conv_detail
