// A tile through shared memory, of a matrix whose rows and columns start anywhere.
#pragma once
#include <ridge/transpose/tile.hpp>

namespace ridge::transpose_detail {

// A shifted tile in shared memory: each row has one chunk more than the tile is wide, as its first may begin before
// the tile. An empty chunk follows every V rows (V: units per chunk), so that chunks of one column in rows V apart,
// which a warp reads at a time, are in different banks. A column's first chunk may also begin before the tile, so up to
// a chunk's worth of rows above the tile is stored too.
constexpr int shifted_chunks(Config c) { return c.x_bytes / chunk_bytes + 1; }  // per row
constexpr int shifted_chunk(Config c, int unit, int row, int chunk) {
  return row * shifted_chunks(c) + row / per_chunk(unit) + chunk;
}

// Units smaller than a word are transposed by words: a column's chunk is assembled from two transposed ones, and the
// first V rows of a tile are the last of the tile before it.
RIDGE_HD constexpr bool by_words(int unit) { return unit < 4; }

namespace shifted {

// Units are smaller than a chunk.
constexpr bool instantiated(const Config& c, int unit) { return has_tile(c, unit) && unit < chunk_bytes; }

constexpr Tiles tiles_of(const Config& c, const Form& f) {
  const int above = units_above(f), shared_rows = above > 0 && by_words(f.unit) ? per_chunk(f.unit) : 0;
  return {.down = ceil_div(f.rows + above, tile_rows(c, f.unit) - shared_rows),
          .across = ceil_div(f.cols, tile_cols(c, f.unit)),
          .matrices = f.outer.count()};
}
constexpr int smem_bytes(const Config& c, int unit) {
  const int above = by_words(unit) ? 0 : per_chunk(unit) - 1;  // rows above the tile that first chunks may reach into
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
