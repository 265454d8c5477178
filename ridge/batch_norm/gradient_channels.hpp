// dx of contiguous channels: 16 bytes of them per thread, in several positions.
#pragma once
#include <ridge/batch_norm/apply_channels.hpp>
#include <ridge/batch_norm/gradient.hpp>

namespace ridge::batch_norm_detail::gradient::channels {

using apply::channels::items_of;

inline std::string fits(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo&) {
  if (items_of(row.config, p) >= Divider::limit) return "more than 2^31 pieces of work";
  if ((of_batch(p) && !channels_on_vectors(p.x, p.dtype, p.align_x)) ||
      !channels_on_vectors(p.dy, p.dtype, p.align_dy) || !channels_on_vectors(p.y, p.dtype, p.align_y))
    return "channels are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

inline Footprint footprint(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo&) {
  const ApplyConfig& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads), .threads = c.threads, .registers = 80};
}

inline roofline::Kernel model(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  return kernel_of_dx_vectors(row.config, footprint(row, p, device), p);
}

inline std::string_view lesson(const ApplyVariant&) { return "coarsening"; }

inline constexpr GradientFamily family{fits, footprint, model, lesson};

}  // namespace ridge::batch_norm_detail::gradient::channels
