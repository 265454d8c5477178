// dx of contiguous channels: 16 bytes of them per thread, in several positions.
#pragma once
#include <ridge/batch_norm/apply_channels.hpp>
#include <ridge/batch_norm/gradient.hpp>

namespace ridge::batch_norm_detail::gradient::channels {

// Rounds of a thread, in each of which it has Config::vectors positions: as many as leave enough blocks for all
// multiprocessors, so that channels' numbers are loaded for many positions.
inline std::int64_t rounds_of(const ApplyConfig& c, const BatchNormProblem& p, const DeviceInfo& device) {
  constexpr std::int64_t most = 8, blocks_per_sm = 6;  // two waves of those that registers leave room for
  const std::int64_t threads = ceil_div(per_channel(p.y), c.vectors) * (p.y.shape[1] / vector_elements(p.dtype));
  return std::clamp<std::int64_t>(threads / (std::int64_t{device.sms} * blocks_per_sm * c.threads), 1, most);
}

// Threads with work.
inline std::int64_t items_of(const ApplyConfig& c, const BatchNormProblem& p, const DeviceInfo& device) {
  return ceil_div(per_channel(p.y), positions_apart * c.vectors * rounds_of(c, p, device)) * positions_apart *
         (p.y.shape[1] / vector_elements(p.dtype));
}

inline std::string fits(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  if (items_of(row.config, p, device) >= Divider::limit) return "more than 2^31 pieces of work";
  const auto on_vectors = [&](const Layout& t, int alignment) { return channels_on_vectors(t, p.dtype, alignment); };
  if (!holds_for_all_of_dx(p, on_vectors))
    return "channels are not contiguous, or not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

inline Footprint footprint(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  const ApplyConfig& c = row.config;
  return {.grid = ceil_div(items_of(c, p, device), c.threads),
          .threads = c.threads,
          .registers = by_dz(dz_for_dx(p), 72, 88, 128)};
}

inline roofline::Kernel model(const ApplyVariant& row, const BatchNormProblem& p, const DeviceInfo& device) {
  return kernel_of_dx_vectors(row.config, footprint(row, p, device), p);
}

inline std::string_view lesson(const ApplyVariant&) { return "coarsening"; }

inline constexpr GradientFamily family{fits, footprint, model, lesson};

}  // namespace ridge::batch_norm_detail::gradient::channels
