// A tile by way of shared memory, of a matrix whose rows and columns start anywhere.
#pragma once
#include <ridge/transpose/tile.hpp>

namespace ridge::transpose_detail {

// A shifted tile in shared memory: each row has one chunk more than the tile is wide, as its first may begin before
// the tile. Behind as many rows as a chunk has units lies an empty chunk, so that chunks of one column and of rows so
// far apart, which one warp reads at a time, are in different banks. A column's first chunk may begin before the tile
// as well, so up to a chunk of rows above the tile is there too.
constexpr int shifted_chunks(Config c) { return c.x_bytes / chunk_bytes + 1; }  // of a row
constexpr int shifted_chunk(Config c, int unit, int row, int chunk) {
  return row * shifted_chunks(c) + row / per_chunk(unit) + chunk;
}

// Units of less than a word are turned by words: a column's chunks are put together of two that were turned, and the
// first V rows of a tile are its predecessor's last.
RIDGE_HD constexpr bool turns(int unit) { return unit < 4; }

namespace shifted {

// No unit is a chunk.
constexpr bool instantiated(const Config& c, int unit) { return has_tile(c, unit) && unit < chunk_bytes; }

constexpr Tiles tiles_of(const Config& c, const Form& f) {
  const int above = units_above(f), shared_rows = above > 0 && turns(f.unit) ? per_chunk(f.unit) : 0;
  return {.down = ceil_div(f.rows + above, tile_rows(c, f.unit) - shared_rows),
          .across = ceil_div(f.cols, tile_cols(c, f.unit)),
          .matrices = f.outer.count()};
}
constexpr int smem_bytes(const Config& c, int unit) {
  const int above = turns(unit) ? 0 : per_chunk(unit) - 1;  // rows above the tile that its first chunks may reach into
  return shifted_chunk(c, unit, tile_rows(c, unit) + above, 0) * chunk_bytes;
}

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Config& c = row.config;
  const int unit = r.form.unit;
  if (std::string why = refuse_form(r.form, {Kind::matrices}); !why.empty()) return why;
  if (unit == chunk_bytes) return "elements of 16 bytes start on 16 bytes anywhere";
  if (std::string why = refuse_tile(c, unit); !why.empty()) return why;
  return refuse_smem(smem_bytes(c, unit), device);
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = tiles_of(c, r.form).count(), .threads = c.threads, .smem = smem_bytes(c, r.form.unit)};
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Footprint launch = footprint(row, r, device);
  const int unit = r.form.unit;
  return kernel_of(row, launch, r, tile_use(r.form, tile_bytes(row.config, unit) / unit, launch.grid));
}

inline std::string_view lesson(const Variant&) { return "coalescing"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace shifted
}  // namespace ridge::transpose_detail
