// Matrices of four columns, in registers alone: 16 bytes of x, which are V / 4 whole rows, become a word of each
// column. Four lanes then exchange words, after which each has a chunk of one column:
// a warp reads and writes whole lines.
//
// Columns of y may start off 16-byte boundaries. They are still written by whole aligned chunks: each begins with some
// rows that precede those of the four lanes, taken from the registers of the four lanes before.
#pragma once
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/transpose/thin.hpp>
#include <ridge/transpose/window.cuh>

namespace ridge::transpose_detail {

// Converts V / 4 rows of four columns into a word of each column.
template <class T> __device__ __forceinline__ Packed words_of_columns(const Packed& rows) {
  Packed words = rows;
  if constexpr (sizeof(T) == 1) {
    const unsigned low01 = __byte_perm(rows[0], rows[1], 0x5140);  // 0.0 1.0 0.1 1.1 (row.column)
    const unsigned low23 = __byte_perm(rows[2], rows[3], 0x5140);
    const unsigned high01 = __byte_perm(rows[0], rows[1], 0x7362);  // 0.2 1.2 0.3 1.3
    const unsigned high23 = __byte_perm(rows[2], rows[3], 0x7362);
    words[0] = __byte_perm(low01, low23, 0x5410);
    words[1] = __byte_perm(low01, low23, 0x7632);
    words[2] = __byte_perm(high01, high23, 0x5410);
    words[3] = __byte_perm(high01, high23, 0x7632);
  } else if constexpr (sizeof(T) == 2) {  // a row is two words
    words[0] = __byte_perm(rows[0], rows[2], 0x5410);
    words[1] = __byte_perm(rows[0], rows[2], 0x7632);
    words[2] = __byte_perm(rows[1], rows[3], 0x5410);
    words[3] = __byte_perm(rows[1], rows[3], 0x7632);
  }
  return words;
}

// Transposes across four lanes: word j of lane i becomes word i of lane j.
__device__ __forceinline__ Packed transpose_4x4(Packed words, const simt::tile<thin_lanes>& lanes) {
  const bool odd = lanes.rank() % 2 != 0, upper = lanes.rank() / 2 % 2 != 0;
  const unsigned a = lanes.shfl_xor(odd ? words[0] : words[1], 1), b = lanes.shfl_xor(odd ? words[2] : words[3], 1);
  words = odd ? Packed{a, words[1], b, words[3]} : Packed{words[0], a, words[2], b};
  const unsigned c = lanes.shfl_xor(upper ? words[0] : words[2], 2), d = lanes.shfl_xor(upper ? words[1] : words[3], 2);
  return upper ? Packed{c, d, words[2], words[3]} : Packed{words[0], words[1], c, d};
}

// Four columns.                                              x: [matrices][rows, 4]  y: [matrices][4, rows]
// A group is V rows of x, held by four lanes. The first block of a matrix copies the rows at either end that are not
// in whole groups, or not in whole chunks of y, one by one.
// Preconditions: rows of x have no gaps, and each matrix of it starts on 16 bytes; gridDim.x is all tiles; shifted:
// y_shifted(). A unit has at most 4 bytes.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    transpose_quads(const T* x, T* y, Form f, Tiles tiles, bool shifted) {
  constexpr Config c = Policy::config;
  constexpr int V = per_chunk(sizeof(T)), quads = thin_lanes / 4;
  const simt::tile<thin_lanes> lanes;
  const int quad = lanes.rank() / 4;
  const TileIndex at = tile_of_block<1>(tiles);
  const Axes::Offsets matrix = f.outer(at.matrix);
  const std::int64_t groups = f.rows / V;
  const std::int64_t group0 =
      (std::int64_t{at.row - 1} * (c.threads / thin_lanes) + lanes.index()) * (quads * c.accesses);
  x += matrix.x;
  y += matrix.y;
  // L2 prefetch while the preceding kernel ends.
#pragma unroll
  for (int u = 0; u < c.accesses; ++u)
    if (at.row > 0 && lanes.rank() % 8 == 0 && group0 + u * quads + quad < groups)
      tile::prefetch_line_l2(x + (group0 + u * quads) * (4 * V) + lanes.rank() * V);
  tile::grid_dependency_wait();
  if (at.row == 0) return copy_remainder<c.threads, 4>(x, y, f);

  Packed in[c.accesses], last{};
  const auto load = [&](std::int64_t warp_group) {
    return tile::load_packed(x + warp_group * (4 * V) + lanes.rank() * V);
  };
#pragma unroll
  for (int u = 0; u < c.accesses; ++u)  // load
    in[u] = group0 + u * quads + quad < groups ? load(group0 + u * quads) : Packed{};
  // The last lanes also load the group before the warp's first: they precede the first lanes of the next access.
  if (shifted && quad == quads - 1 && group0 > 0 && group0 <= groups) last = load(group0 - quads);
  tile::launch_dependents();
  T* column = y + lanes.rank() % 4 * f.pitch_y;
  const int past = chunk_offset(column);  // rows of the previous group at the start of this group's chunk
  if (shifted) last = transpose_4x4(words_of_columns<T>(last), lanes);
#pragma unroll
  for (int u = 0; u < c.accesses; ++u) {
    const std::int64_t group = group0 + u * quads + quad;
    Packed chunk = transpose_4x4(words_of_columns<T>(in[u]), lanes);
    if (shifted) {
      const Packed given = quad == quads - 1 ? last : chunk;
      last = chunk;
      const Packed before = lanes.shfl(given, (lanes.rank() + thin_lanes - 4) % thin_lanes);
      chunk = window_of(before, chunk, chunk_bytes - past * static_cast<int>(sizeof(T)));
    }
    if (group < groups && group * V >= past) store_packed(column + group * V - past, chunk);
  }
}

}  // namespace ridge::transpose_detail
