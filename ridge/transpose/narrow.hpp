// Matrices of a few columns (narrow_in) or a few rows (narrow_out): one side is a single contiguous range of memory,
// the other a few long ones.
#pragma once
#include <ridge/transpose/request.hpp>

namespace ridge::transpose_detail {

// Rows of x per tile (columns, where y is the contiguous side), such that the runs of y (of x) are whole chunks, or
// multiples of eight chunks, a whole line, in narrow_in.
constexpr int narrow_length(Config c, int unit, std::int64_t width) {
  const int line = (c.algorithm == Algorithm::narrow_in ? 8 : 1) * per_chunk(unit);
  return static_cast<int>(c.stage_bytes / (width * unit) / line * line);
}
// The widest matrix for which a stage holds eight chunks per column.
constexpr std::int64_t narrow_width(Config c) { return c.stage_bytes / (8 * chunk_bytes); }
// Chunks of one row of x in narrow_out's stage: neighbours may share those at its ends. Odd, for the banks.
constexpr int narrow_pitch(Config c, int unit, std::int64_t width) {
  return (narrow_length(c, unit, width) / per_chunk(unit) + 2) | 1;
}

namespace narrow {

inline roofline::Kernel model(const Variant& row, const Footprint& launch, const Request& r, std::int64_t width) {
  const double room = static_cast<double>(width) * narrow_length(row.config, r.form.unit, width);
  return kernel_of(row, launch, r, tile_use(r.form, room, launch.grid));
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

}  // namespace narrow

namespace narrow_in {

constexpr Tiles tiles_of(const Config& c, const Form& f) {
  return {.down = ceil_div(f.rows + units_above(f), narrow_length(c, f.unit, f.cols)), .matrices = f.outer.count()};
}
// Adds a chunk's worth of rows above, the chunks at both ends, and the swizzle's groups of eight.
constexpr int smem_bytes(const Config& c) { return c.stage_bytes + c.stage_bytes / 8 + 8 * chunk_bytes; }

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config& c = row.config;
  const Form& f = r.form;
  if (std::string why = refuse_form(f, {Kind::matrices}); !why.empty()) return why;
  if (f.pitch_x != f.cols) return "rows of x have gaps";
  if (f.cols > narrow_width(c)) return "more than " + std::to_string(narrow_width(c)) + " columns";
  return refuse_smem(smem_bytes(c), device);
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = tiles_of(c, r.form).count(), .threads = c.threads, .smem = smem_bytes(c)};
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  return narrow::model(row, footprint(row, r, device), r, r.form.cols);
}

inline constexpr Family family{fits, footprint, model, narrow::lesson};

}  // namespace narrow_in

namespace narrow_out {

constexpr Tiles tiles_of(const Config& c, const Form& f) {
  return {.across = ceil_div(f.rows * f.cols + units_above(f), f.rows * narrow_length(c, f.unit, f.rows)),
          .matrices = f.outer.count()};
}
constexpr int smem_bytes(const Config& c) {
  return c.stage_bytes + static_cast<int>(narrow_width(c)) * 3 * chunk_bytes;
}

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config& c = row.config;
  const Form& f = r.form;
  if (std::string why = refuse_form(f, {Kind::matrices}); !why.empty()) return why;
  if (f.pitch_y != f.rows) return "columns of y have gaps";
  if (f.rows > narrow_width(c)) return "more than " + std::to_string(narrow_width(c)) + " rows";
  return refuse_smem(smem_bytes(c), device);
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = tiles_of(c, r.form).count(), .threads = c.threads, .smem = smem_bytes(c)};
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  return narrow::model(row, footprint(row, r, device), r, r.form.rows);
}

inline constexpr Family family{fits, footprint, model, narrow::lesson};

}  // namespace narrow_out
}  // namespace ridge::transpose_detail
