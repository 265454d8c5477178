// Matrices of 2, 3, 4 or 8 columns, in registers alone.
#pragma once
#include <ridge/transpose/request.hpp>

namespace ridge::transpose_detail {

inline constexpr int thin_lanes = 32;  // lanes that exchange chunks
constexpr bool is_thin(std::int64_t width) { return width == 2 || width == 3 || width == 4 || width == 8; }
// Whether four lanes exchange words: four columns of units up to 4 bytes.
RIDGE_HD constexpr bool is_quads(int unit, std::int64_t width) { return width == 4 && unit <= 4; }
// Groups per block; a group has as many rows as a chunk has units. Except in quads, with shifted columns the first of
// 32 lanes only provides rows to the second.
RIDGE_HD constexpr int thin_groups(Config c, int unit, std::int64_t width, bool shifted) {
  const int warps = c.threads / thin_lanes;
  return warps * (is_quads(unit, width) ? thin_lanes / 4 * c.accesses : thin_lanes - shifted);
}

namespace thin {

constexpr int groups_of_block(const Config& c, const Form& f) { return thin_groups(c, f.unit, f.cols, y_shifted(f)); }

// The first block of a matrix copies the rows that are not in whole chunks.
constexpr Tiles tiles_of(const Config& c, const Form& f) {
  return {.down = 1 + ceil_div(f.rows / per_chunk(f.unit), groups_of_block(c, f)), .matrices = f.outer.count()};
}

inline bool starts_off_chunks(const Form& f) {
  bool off = f.offset_x != 0;
  for (int axis = 0; axis < f.outer.rank; ++axis) off = off || f.outer.x[axis] * f.unit % chunk_bytes != 0;
  return off;
}

inline std::string fits(const Variant&, const Request& r, const DeviceInfo&) {
  const Form& f = r.form;
  if (std::string why = refuse_form(f, {Kind::matrices}); !why.empty()) return why;
  if (f.unit == chunk_bytes) return "elements of 16 bytes are chunks by themselves";
  if (!is_thin(f.cols)) return "not 2, 3, 4 or 8 columns";
  if (f.pitch_x != f.cols) return "rows of x have gaps";
  return starts_off_chunks(f) ? "a matrix of x starts off 16 bytes" : "";
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo&) {
  return {.grid = tiles_of(row.config, r.form).count(), .threads = row.config.threads};
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Form& f = r.form;
  const Footprint launch = footprint(row, r, device);
  const double room = static_cast<double>(f.cols * per_chunk(f.unit)) * groups_of_block(row.config, f);
  return kernel_of(row, launch, r, tile_use(f, room, launch.grid));
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace thin
}  // namespace ridge::transpose_detail
