// Several blocks per group. A first kernel writes the moments of every slice; in a second one, each block merges those
// of its groups, and writes y of its slice. Gradients have a kernel between these, for the sums of sums.hpp, and write
// dx.
#pragma once
#include <ridge/group_norm/sums.hpp>

namespace ridge::group_norm_detail::split {

// Threads of a gradient's kernels have a share of the registers that holds x, dy and the channels' parameters.
inline constexpr int gradient_blocks_per_sm = 2, gradient_loads = 2;

// Whether the sums of a gradient are taken along columns of channels; else along planes.
constexpr bool sums_by_columns(const Config& c) { return c.access == Access::pixels; }

inline SumsPlan sums_of(const Config& c, const GroupNormProblem& p, const DeviceInfo& device, const Division& d) {
  if (!p.backward || is_empty(p)) return {};
  std::int64_t pieces = d.slices;
  if (!sums_by_columns(c)) {
    // About as many warps as the device holds, each with a step of its lanes at least.
    const std::int64_t warps = std::int64_t{device.sms} * device.threads_per_sm / device.warp;
    const std::int64_t items = spatial(p.x) / elements_of_item(c.access, p.dtype);
    const std::int64_t wanted =
        std::clamp<std::int64_t>(warps / planes_of(p), 1, ceil_div(items, device.warp * planes_loads));
    pieces = ceil_div(items, ceil_div(items, wanted));
  }
  return sums_plan(p, groups_of_all(p) * d.slices, pieces);
}

// Shared memory of the kernels that merge: a group's statistics, or its gradient with them; sums by columns.
inline constexpr int statistics_bytes = 12, gradient_bytes = 20;
inline std::int64_t smem_of_moments(const Config& c, const Division& d) {
  return c.access == Access::pixels ? floats_of_sums(d, d.slots) * 4 : 0;
}
inline std::int64_t smem_of_write(const Division& d) { return std::int64_t{d.groups} * statistics_bytes; }
inline std::int64_t smem_of_sums(const Division& d, DType dtype) {
  return smem_of_write(d) + floats_of_sums(d, vector_elements(dtype)) * 4;
}
inline std::int64_t smem_of_gradient(const Division& d) { return std::int64_t{d.groups} * gradient_bytes; }

inline std::string fits(const Variant& row, const GroupNormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (is_empty(p)) return "there is nothing to write";
  if (std::string why = refuse_access(c, p); !why.empty()) return why;
  const Division d = division_of(c, p, device);
  if (std::string why = refuse_blocks(d); !why.empty()) return why;
  const std::int64_t most = std::max({smem_of_moments(c, d), p.backward ? smem_of_gradient(d) : smem_of_write(d),
                                      p.backward && sums_by_columns(c) ? smem_of_sums(d, p.dtype) : 0});
  if (std::string why = roofline::refuse_smem(most, device); !why.empty()) return why;
  if (p.backward && c.access == Access::span && spatial(p.x) % vector_elements(p.dtype) != 0)
    return "planes are not whole vectors of 16 bytes, and gradients are summed by planes";
  return refuse_sums(p);
}

inline Footprint footprint(const Variant& row, const GroupNormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Division d = division_of(c, p, device);
  const SumsPlan sums = sums_of(c, p, device, d);
  const auto partials = static_cast<std::size_t>(groups_of_all(p) * d.slices) * partial_bytes;
  return {.grid = d.blocks(),
          .threads = d.threads,
          .registers = c.access == Access::pixels ? 80 : 64,
          .smem = static_cast<int>(smem_of_moments(c, d)),
          .workspace = p.backward ? sums.bytes : partials};
}

inline roofline::Kernel model(const Variant& row, const GroupNormProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const Division d = division_of(c, p, device);
  roofline::Kernel k = roofline::kernel_of(footprint(row, p, device), cost(p));
  const double of_tensor = elements(p) * element_bytes(p);
  // x is read again for each kernel, and dy with it for the sums and for dx. The L2 cache has a tensor that fits in a
  // third of it: as much is written, and its halves keep copies.
  const double first = of_tensor * (p.backward ? 2 : 1), again = of_tensor * (p.backward ? 3 : 1);
  const bool in_l2 = 3 * first <= static_cast<double>(device.l2_bytes);
  k.bytes_read = first + (in_l2 ? 0 : again);
  k.l2_bytes = in_l2 ? again : 0;
  k.launches = p.backward ? 3 : 2;
  k.trips = k.launches * std::max(1.0, static_cast<double>(d.slice_items) / (d.lanes * c.loads)) + 1;
  k.trip_bytes = d.threads * c.loads * static_cast<double>(elements_of_item(c.access, p.dtype)) * element_bytes(p);
  k.block_us = k.launches;  // barriers, and what each block merges
  k.serial_us =
      (k.launches - 1) * (1.2 + device.memory_latency_us);         // from one kernel's end to what the next one reads
  const double of_element = c.access == Access::element ? 40 : 0;  // divisions for each element's place
  k.clocks = clocks_of(p, (p.backward ? 30 : 16) + activation_instructions(p) + k.launches * of_element);
  k.memory_share = share_of_sectors(c, p, d);
  if (p.backward && wants_sums(p)) add_finish(k, sums_of(c, p, device, d), device);
  return k;
}

inline std::string_view lesson(const Variant& row) {
  return row.config.access == Access::element ? "occupancy" : "coalescing";
}

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::group_norm_detail::split
