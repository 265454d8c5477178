// Contiguous channels: 16 bytes of them per thread, in several positions.
#pragma once
#include <ridge/batch_norm/apply.hpp>

namespace ridge::batch_norm_detail {

// A thread's positions are this far apart, with those of as many other threads between them, so that blocks go through
// memory in the order of their numbers.
inline constexpr int positions_apart = 16;

namespace apply::channels {

// Threads with work.
constexpr std::int64_t items_of(const ApplyConfig& c, const BatchNormProblem& p) {
  return ceil_div(per_channel(p.y), positions_apart * c.vectors) * positions_apart *
         (p.y.shape[1] / vector_elements(p.dtype));
}

inline std::string fits(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo&) {
  if (items_of(row.config, p) >= Divider::limit) return "more than 2^31 pieces of work";
  if (!holds_for_all(p, [&](const Layout& t, int alignment) { return channels_on_vectors(t, p.dtype, alignment); }))
    return "channels are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

inline Footprint footprint(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo&) {
  const ApplyConfig& c = row.config;
  return {.grid = ceil_div(items_of(c, p), c.threads), .threads = c.threads, .registers = 64};
}

inline roofline::Kernel model(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  return kernel_of_vectors(row.config, footprint(row, p, device), p);
}

inline std::string_view lesson(const ApplyVariant&) { return "coarsening"; }

inline constexpr ApplyFamily family{fits, footprint, model, lesson};

}  // namespace apply::channels
}  // namespace ridge::batch_norm_detail
