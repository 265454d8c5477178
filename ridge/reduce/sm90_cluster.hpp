// A cluster of Hopper's blocks folds a single row, at any strides.
#pragma once
#include <ridge/reduce/columns.hpp>

namespace ridge::reduce_detail {

inline constexpr int cluster_blocks = 8;  // as many as every device with clusters takes

namespace cluster {

constexpr Tiling tiling(const Config& c, const Extent& e, int element_bytes) {
  return {.row_threads = c.threads * cluster_blocks,
          .vectors = column_vectors(c.vectors, element_bytes),
          .row_blocks = e.rows};
}
constexpr std::int64_t additions(const Config& c, const Extent& e, std::int64_t, int element_bytes) {
  const Tiling t = tiling(c, e, element_bytes);
  return t.row_tiles(e.cols) * t.vectors + block_additions(c.threads) + cluster_blocks;
}

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo& device) {
  if (device.cc != 90) return "clusters of blocks need compute capability 9.0";
  if (std::string why = refuse_several_rows(r); !why.empty()) return why;
  return refuse_longer(tiling(config_of(row, r), r.extent, element_bytes(r.problem)), r);
}

inline Footprint footprint(const Variant& row, const Request&, const DeviceInfo&) {
  return {.grid = cluster_blocks, .threads = row.config.threads, .registers = 64};
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  const Tiling t = tiling(c, r.extent, element_bytes(r.problem));
  roofline::Kernel k = kernel_of(c, footprint(row, r, device), t, 1, r);
  constexpr double cluster_us = 0.6;  // two barriers of a cluster, measured on an H200
  columns::read_columns(k, c, r, device);
  k.trips = static_cast<double>(ceil_div(r.extent.cols, t.tile_elements()));
  k.block_us = prologue_us + cluster_us;
  columns::add_offsets(k, t, r);
  return k;
}

inline std::string_view lesson(const Variant&) { return "occupancy"; }

inline constexpr Family family{fits, footprint, model, lesson};
inline constexpr Partition partition{tiling, one_slice, additions};

}  // namespace cluster
}  // namespace ridge::reduce_detail
