// A tile through shared memory, of a matrix whose rows and columns start and end on access boundaries.
#pragma once
#include <ridge/transpose/request.hpp>

namespace ridge::transpose_detail {

// ---- shared with shifted tiles

constexpr int tile_rows(Config c, int unit) { return c.y_bytes / unit; }
constexpr int tile_cols(Config c, int unit) { return c.x_bytes / unit; }
constexpr int tile_bytes(Config c, int unit) { return tile_rows(c, unit) * c.x_bytes; }

// Whether a tile of such units keeps every thread busy and leaves room for other blocks.
constexpr bool has_tile(Config c, int unit) {
  const int most_bytes = 128 * c.threads;  // eight accesses of a thread
  const int least_bytes = (c.threads > 256 ? 4 : 1) * c.threads * chunk_bytes;
  return tile_bytes(c, unit) >= least_bytes && tile_bytes(c, unit) <= most_bytes;
}
inline std::string refuse_tile(const Config& c, int unit) {
  if (has_tile(c, unit)) return {};
  return "its tile of elements of " + bytes_text(unit) + " has " + std::to_string(tile_bytes(c, unit)) +
         " bytes, too few or too many";
}

namespace tiled {

// An access never splits a unit.
constexpr bool instantiated(const Config& c, int unit) { return has_tile(c, unit) && unit <= c.access_bytes; }

constexpr Tiles tiles_of(const Config& c, const Form& f) {
  return {.down = ceil_div(f.rows, tile_rows(c, f.unit)),
          .across = ceil_div(f.cols, tile_cols(c, f.unit)),
          .matrices = f.outer.count()};
}

// Whether every row of x starts and ends on an access's boundary, and every column of y on a chunk's.
inline bool whole_accesses(const Form& f, int access_bytes) {
  const std::int64_t A = access_bytes / f.unit, V = per_chunk(f.unit);
  bool whole = f.offset_x % access_bytes == 0 && f.offset_y == 0 && f.cols % A == 0 && f.rows % V == 0 &&
               f.pitch_x % A == 0 && f.pitch_y % V == 0;
  for (int axis = 0; axis < f.outer.rank; ++axis) whole = whole && f.outer.x[axis] % A == 0 && f.outer.y[axis] % V == 0;
  return whole;
}

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config& c = row.config;
  const Form& f = r.form;
  if (std::string why = refuse_form(f, {Kind::matrices}); !why.empty()) return why;
  if (f.unit > c.access_bytes) return "elements of 16 bytes are more than an access of " + bytes_text(c.access_bytes);
  if (std::string why = refuse_tile(c, f.unit); !why.empty()) return why;
  if (!whole_accesses(f, c.access_bytes))
    return c.access_bytes == chunk_bytes ? "rows of x or of y are not whole 16-byte units"
                                         : "rows of x are not whole 8-byte units, or those of y 16-byte units";
  return refuse_smem(tile_bytes(c, f.unit), device);
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = tiles_of(c, r.form).count(), .threads = c.threads, .smem = tile_bytes(c, r.form.unit)};
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Footprint launch = footprint(row, r, device);
  const int unit = r.form.unit;
  return kernel_of(row, launch, r, tile_use(r.form, tile_bytes(row.config, unit) / unit, launch.grid));
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace tiled
}  // namespace ridge::transpose_detail
