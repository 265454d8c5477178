// A thread per element, any strides.
#pragma once
#include <ridge/batch_norm/apply.hpp>

namespace ridge::batch_norm_detail::apply::element {

inline std::string fits(const ApplyVariant&, const BatchNormProblem&, const DeviceInfo&) { return {}; }

inline Footprint footprint(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo&) {
  const ApplyConfig& c = row.config;
  return {.grid = ceil_div(p.y.count(), c.threads), .threads = c.threads, .registers = 32};
}

inline roofline::Kernel model(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  return kernel_of(footprint(row, p, device), p, element_bytes(p), 200);
}

inline std::string_view lesson(const ApplyVariant&) { return {}; }

inline constexpr ApplyFamily family{fits, footprint, model, lesson};

}  // namespace ridge::batch_norm_detail::apply::element
