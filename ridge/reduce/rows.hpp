// Some lanes of a warp fold a whole contiguous row.
#pragma once
#include <ridge/reduce/fold.hpp>

namespace ridge::reduce_detail::rows {

inline constexpr int whole_warp = 32;  // lanes

// Short rows of other types have a warp each.
constexpr bool instantiated(const Config& c, Reduce f, DType dtype) {
  return f != Reduce::dot && (c.lanes == whole_warp || is_short_float(dtype));
}

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config c = config_of(row, r);
  const ReduceProblem& p = r.problem;
  if (!instantiated(c, p.function, p.dtype))
    return p.function == Reduce::dot ? dot_has_one_row : "eight lanes per row are for f32, f16 and bf16";
  if (std::string why = refuse_gaps(r); !why.empty()) return why;
  return refuse_longer(fold_tiling(c, r.extent, element_bytes(p)), r);
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config c = config_of(row, r);
  const int size = element_bytes(r.problem);
  return {
      .grid = grid_of(fold_tiling(c, r.extent, size), 1), .threads = c.threads, .registers = fold_registers(c, size)};
}

// Clocks of a multiprocessor for a row whose last tile is not whole: its accesses are guarded one by one, and all of a
// tile's elements are processed, even those that it lacks. A warp that locates an extreme goes through a tile again,
// also a whole one. Measured on an H200 with rows of 33 to 4,096 bytes.
inline double clocks_of_last_tile(const Config& c, const ReduceProblem& p) {
  const bool index = locates(p.function);
  const int size = element_bytes(p);
  if (c.lanes < whole_warp) return size == 2 ? (index ? 70 : 30) : (index ? 42 : 18);
  switch (size) {
    case 1: return index ? 250 : 140;
    case 2: return index ? 215 : 92;
    default: return index ? 155 : 62;
  }
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  const ReduceProblem& p = r.problem;
  const Extent& e = r.extent;
  const Tiling t = fold_tiling(c, e, element_bytes(p));
  roofline::Kernel k = kernel_of(c, footprint(row, r, device), t, 1, r);
  // Groups of a block's threads read rows that are apart: less than the full rate.
  k.memory_share = c.lanes < device.warp ? 0.92 : 0.96;
  if (e.cols % t.tile_elements() != 0 || (locates(p.function) && c.lanes == whole_warp))
    k.clocks += static_cast<double>(e.rows) * clocks_of_last_tile(c, p);
  k.trips = fold_trips(t, e.cols, 1);
  k.block_us = c.lanes < device.warp ? 0.65 : 0.35;
  grid_stride(k, t, 1);
  return k;
}

inline std::string_view lesson(const Variant&) { return "occupancy"; }

inline constexpr Family family{fits, footprint, model, lesson};
inline constexpr Partition partition{fold_tiling, one_slice, fold_additions};

}  // namespace ridge::reduce_detail::rows
