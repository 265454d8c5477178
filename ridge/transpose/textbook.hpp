// The ladder's first steps: one unit per access, from memory to memory or through a square in shared memory.
#pragma once
#include <ridge/transpose/request.hpp>

namespace ridge::transpose_detail {

inline constexpr int square_side = 32;

namespace textbook {

constexpr bool is_square(const Config& c) { return c.algorithm == Algorithm::square; }

constexpr Tiles tiles_of(const Config& c, const Form& f) {
  const int rows = is_square(c) ? square_side : c.threads / square_side;
  return {.down = ceil_div(f.rows, rows), .across = ceil_div(f.cols, square_side), .matrices = f.outer.count()};
}
constexpr int smem_bytes(const Config& c, int unit) {
  return is_square(c) ? square_side * (square_side + c.pad) * unit : 0;
}

inline std::string fits(const Variant& row, const Request& r, const DeviceInfo& device) {
  if (std::string why = refuse_form(r.form, {Kind::matrices}); !why.empty()) return why;
  return refuse_smem(smem_bytes(row.config, r.form.unit), device);
}

inline Footprint footprint(const Variant& row, const Request& r, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = tiles_of(c, r.form).count(), .threads = c.threads, .smem = smem_bytes(c, r.form.unit)};
}

inline roofline::Kernel model(const Variant& row, const Request& r, const DeviceInfo& device) {
  const Footprint launch = footprint(row, r, device);
  if (!is_square(row.config)) return kernel_of(row, launch, r);
  return kernel_of(row, launch, r, tile_use(r.form, square_side * square_side, launch.grid));
}

inline std::string_view lesson(const Variant& row) {
  if (!is_square(row.config)) return {};
  return row.config.threads < square_side * square_side ? "coarsening" : "tiling";
}

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace textbook
}  // namespace ridge::transpose_detail
