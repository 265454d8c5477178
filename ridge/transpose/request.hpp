// What families share: questions about a problem, refusals, and the start of a launch's model.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/roofline/family.hpp>
#include <ridge/transpose/variants.hpp>

#include <algorithm>
#include <initializer_list>
#include <string>

namespace ridge::transpose_detail {

// A problem and its normal form. Kernels see only the form.
struct Request {
  const TransposeProblem& problem;
  const Form& form;
};

using Family = roofline::Family<Variant, Request>;
using roofline::Footprint;
using roofline::refuse_smem;

constexpr int per_chunk(int unit) { return chunk_bytes / unit; }

// Whether columns of y do not start on 16-byte chunks: a tile's chunks then reach into the rows above the tile.
RIDGE_HD constexpr bool y_shifted(const Form& f) {
  bool shifted = f.offset_y != 0 || f.pitch_y * f.unit % chunk_bytes != 0;
  for (int axis = 0; axis < f.outer.rank; ++axis) shifted = shifted || f.outer.y[axis] * f.unit % chunk_bytes != 0;
  return shifted;
}
// Units by which a chunk of y may begin before its tile; the next tile's chunks begin as much earlier.
constexpr int units_above(const Form& f) { return y_shifted(f) ? per_chunk(f.unit) - 1 : 0; }

// Tiles of each matrix, one per block.
struct Tiles {
  std::int64_t down = 1, across = 1, matrices = 1;
  constexpr std::int64_t count() const { return down * across * matrices; }
};

inline std::string bytes_text(int bytes) { return bytes == 1 ? "1 byte" : std::to_string(bytes) + " bytes"; }

// ---- refusals that families share; empty: none

// Tensors may have another alignment offset than planned, but must start on a whole unit.
inline std::string refuse_parts(const Form& f) {
  if (f.offset_x % f.unit == 0 && f.offset_y % f.unit == 0) return {};
  return "a tensor does not start on " + bytes_text(f.unit) + ", as was planned for";
}

// The refusal of kernels that take only these kinds of forms.
inline std::string refuse_form(const Form& f, std::initializer_list<Kind> taken) {
  if (std::string why = refuse_parts(f); !why.empty()) return why;
  if (std::find(taken.begin(), taken.end(), f.kind) != taken.end()) return {};
  switch (f.kind) {
    case Kind::copy: return "the axes merge into one, which does not move";
    case Kind::runs: return "the innermost axis stays in its place";
    case Kind::matrices: return "the innermost axis does not stay in its place";
    case Kind::strided: return "no axis of x, or none of y, is contiguous";
  }
  return {};
}

// ---- models

inline Cost cost(const TransposeProblem& p) {
  const double bytes = static_cast<double>(p.y.count()) * p.element_bytes;
  double read = bytes;
  for (int axis = 0; axis < p.x.rank; ++axis)  // a broadcast axis is read once
    if (p.x.stride[axis] == 0 && p.x.shape[axis] > 1) read /= static_cast<double>(p.x.shape[axis]);
  Cost c;
  c.bytes_read = read;
  c.bytes_written = bytes;
  return c;
}

// Existing units, as a share of the units that all tiles have room for. Tiles over the edge waste the rest.
inline double tile_use(const Form& f, double room, std::int64_t tiles) {
  return static_cast<double>(f.count()) / (room * static_cast<double>(tiles));
}

// A launch that reads each element once: the start of every family's model. use: the tiles' utilization.
inline roofline::Kernel kernel_of(const Variant& row, const Footprint& launch, const Request& r, double use = 1) {
  roofline::Kernel k = roofline::kernel_of(launch, cost(r.problem));
  // Parts of tiles beyond the edge move nothing but take time.
  k.memory_share = row.share(r.form.unit) * std::max(use, 1e-3);
  k.trip_bytes = k.blocks > 0 ? k.bytes_read / static_cast<double>(k.blocks) : 0;
  k.tile_efficiency = use;
  return k;
}

}  // namespace ridge::transpose_detail
