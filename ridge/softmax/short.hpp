// Short vector-aligned rows (whole 16-byte vectors): a lane has one vector of each of several rows at a time.
#pragma once
#include <ridge/softmax/rows.hpp>

namespace ridge::softmax_detail::short_rows {

inline std::string fits(const Variant& row, const SoftmaxProblem& p, const DeviceInfo&) {
  if (p.backward) return "it has no gradient";
  if (std::string why = refuse_strides(p); !why.empty()) return why;
  if (p.dtype != f32) return "it is for f32";  // `warp_16` takes such rows of 16-bit types
  if (std::string why = refuse_misaligned(p); !why.empty()) return why;
  if (std::string why = refuse_apart(p); !why.empty()) return why;
  const auto off = [&](std::int64_t elements) { return elements * element_bytes(p) % vector_bytes != 0; };
  if (off(p.cols) || p.x->alignment_offset != 0 || (p.rows > 1 && (off(p.x->pitch()) || off(p.y->pitch()))))
    return "rows are not of whole 16-byte vectors, from a boundary on";
  return refuse_longer(vectors(p), lanes(row.config));
}

inline Footprint footprint(const Variant& row, const SoftmaxProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  return {.grid = is_empty(p) ? 0 : ceil_div(p.rows, rows_per_block(c)), .threads = c.threads, .registers = 64};
}

inline roofline::Kernel model(const Variant& row, const SoftmaxProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  roofline::Kernel k = kernel_of(row, footprint(row, p, device), p);
  k.trip_bytes = row_bytes(p) * static_cast<double>(rows_per_block(c));
  k.tile_efficiency = static_cast<double>(vectors(p)) / lanes(c);
  k.block_us /= std::max(k.tile_efficiency, 0.25);  // idle lanes; with half a warp idle, warp_16 takes the rows
  return k;
}

inline std::string_view lesson(const Variant&) { return "coarsening"; }

inline constexpr Family family{fits, footprint, model, lesson};

}  // namespace ridge::softmax_detail::short_rows
