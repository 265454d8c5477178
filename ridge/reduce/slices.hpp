// A block folds a slice of a contiguous row: one row for all blocks, a block per row, or multi-block rows.
#pragma once
#include <ridge/reduce/fold.hpp>
#include <ridge/tile/last_block.hpp>

namespace ridge::reduce_detail::slices {

// Config::last_block: the workspace before the partial results, the word of the blocks' arrivals and padding to 16
// bytes.
inline constexpr std::size_t arrival_bytes = 16;

constexpr bool instantiated(const Config& c, Reduce f, DType dtype, Accumulate accumulate) {
  const bool textbook = c.cut == Cut::tiles, simple = dtype == DType::f32 || dtype == DType::i32;
  if (accumulate == Accumulate::two_float && textbook) return false;
  const Reduce kernels = kernels_of(f);
  if (c.last_block) return kernels == Reduce::sum && is_short_float(dtype) && accumulate == Accumulate::plain;
  if (c.threads == 1024) return (kernels == Reduce::sum || f == Reduce::dot) && is_short_float(dtype);
  if (f == Reduce::dot) return !textbook || simple;
  if (c.access_bytes == 0) return false;
  return !textbook || (simple && !locates(f));
}

constexpr std::int64_t slices_of(const Config& c, const Extent& e, int element_bytes, int sms) {
  const Tiling t = fold_tiling(c, e, element_bytes);
  if (c.cut == Cut::whole) return 1;
  if (c.cut == Cut::tiles) return t.row_tiles(e.cols);
  const std::int64_t resident = std::int64_t{sms} * c.blocks_per_sm;
  return even_slices(t, e.cols, resident * c.waves / std::max<std::int64_t>(t.row_blocks, 1));
}
constexpr std::int64_t additions(const Config& c, const Extent& e, std::int64_t slices, int element_bytes) {
  const std::int64_t depth = fold_additions(c, e, slices, element_bytes);
  if (c.last_block) return depth + ceil_div(slices, c.threads) + block_additions(c.threads);
  return slices > 1 ? depth + finish_additions(slices) : depth;
}

inline std::string refuse_kind(const Config& c, const ReduceProblem& p) {
  if (instantiated(c, p.function, p.dtype, p.accumulate)) return {};
  if (c.cut == Cut::tiles) return is_step_of_textbook;
  if (c.last_block) return "the last block finishes plain sums and means of f32, f16 and bf16";
  if (c.threads == 1024) return "one block of 1,024 threads is for sums, means and dots of f32, f16 and bf16";
  return "one input is read by 16 bytes wherever it starts";
}

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  const ReduceProblem& p = r.problem;
  const int size = element_bytes(p);
  if (std::string why = refuse_kind(c, p); !why.empty()) return why;
  if (c.row_count == RowCount::one)
    if (std::string why = refuse_several_rows(r); !why.empty()) return why;
  if (c.last_block && slices_of(c, r.extent, size, device.sms) > tile::most_arrivals)
    return "more than " + std::to_string(tile::most_arrivals) + " slices, which is what arrivals are counted to";
  if (c.row_count == RowCount::several && r.extent.rows < 2) return "there are no several rows";
  if (std::string why = refuse_gaps(r); !why.empty()) return why;
  if (arity(p.function) == 2 && access_elements(c, size) > 1 && c.access_bytes > p.alignment)
    return "the inputs are not equally far from a boundary of " + std::to_string(c.access_bytes) + " bytes";
  return c.cut == Cut::whole ? refuse_longer(fold_tiling(c, r.extent, size), r) : "";
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  const int size = element_bytes(r.problem);
  const std::int64_t slices = slices_of(c, r.extent, size, device.sms);
  Footprint launch{.grid = grid_of(fold_tiling(c, r.extent, size), slices),
                   .threads = c.threads,
                   .registers = fold_registers(c, size)};
  if (slices > 1 && c.last_block) launch.workspace = partials_room(slices, r.problem) + arrival_bytes;
  else if (slices > 1) launch.workspace = partials_room(r.extent.rows * partial_count(slices), r.problem);
  return launch;
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config c = config_of(row, r);
  const int size = element_bytes(r.problem);
  const Tiling t = fold_tiling(c, r.extent, size);
  const std::int64_t slices = slices_of(c, r.extent, size, device.sms);
  roofline::Kernel k = kernel_of(c, footprint(row, r, device), t, slices, r);
  if (c.cut == Cut::fill && c.waves == 1 && c.access_bytes > 0)
    k.memory_share = 0.978;  // the multiprocessors do not finish together
  k.trips = fold_trips(t, r.extent.cols, slices);
  k.block_us = prologue_us + barriers_of_shuffle * barrier_us;
  grid_stride(k, t, slices);
  constexpr double arrival_us = 0.9;
  if (slices > 1 && c.last_block) k.serial_us += arrival_us;
  else if (slices > 1) finish_by(k, finish_passes(slices));
  return k;
}

inline std::string_view lesson(const Variant& row) {
  const Config& c = row.config;
  if (c.access_bytes == 0) return {};
  if (c.vectors == 1) return "coalescing";
  return c.row_count == RowCount::one ? "coarsening" : "occupancy";
}

inline constexpr Family family{fits, footprint, model, lesson};
inline constexpr Partition partition{fold_tiling, slices_of, additions};

}  // namespace ridge::reduce_detail::slices
