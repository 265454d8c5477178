// dx by a thread per element, any strides.
#pragma once
#include <ridge/batch_norm/gradient.hpp>

namespace ridge::batch_norm_detail::gradient::element {

inline std::string fits(const ApplyVariant&, const BatchNormProblem&, const DeviceInfo&) { return {}; }

inline Footprint footprint(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo&) {
  const ApplyConfig& c = row.config;
  return {.grid = ceil_div(p.y.count(), c.threads), .threads = c.threads, .registers = 40};
}

inline roofline::Kernel model(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  return kernel_of_dx(footprint(row, p, device), p, element_bytes(p), 240);  // three 64-bit divisions, and parameters
}

inline std::string_view lesson(const ApplyVariant&) { return {}; }

inline constexpr GradientFamily family{fits, footprint, model, lesson};

}  // namespace ridge::batch_norm_detail::gradient::element
