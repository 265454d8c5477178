// Matrices of 2, 3, 4 or 8 columns, in registers alone: a thread loads as many 16-byte chunks as the matrix has
// columns, which are V whole rows of x, and writes a chunk of each column. There is no barrier, and all loads of a
// thread are in flight at once.
//
// Columns of y may start off 16-byte boundaries. They are still written by whole aligned chunks: each begins with some
// rows that precede the thread's own, taken from its neighbour's registers.
#pragma once
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/transpose/launch.cuh>
#include <ridge/transpose/quads.cuh>
#include <ridge/transpose/thin.hpp>
#include <ridge/transpose/window.cuh>

namespace ridge::transpose_detail {

// Permutes units within an array of chunks: unit at(k) moves to position k. The compiler evaluates every index.
template <class T, int Chunks, class F>
__device__ __forceinline__ void rearrange(const Packed (&from)[Chunks], Packed (&to)[Chunks], F at) {
  const auto word = [&](int i) { return from[i / 4][i % 4]; };
  constexpr int per = sizeof(T) < 4 ? 4 / sizeof(T) : 1, words = sizeof(T) < 4 ? 1 : sizeof(T) / 4;
#pragma unroll
  for (int i = 0; i < 4 * Chunks; ++i) {
    unsigned& out = to[i / 4][i % 4];
    if constexpr (per == 1) {
      out = word(at(i / words) * words + i % words);
    } else if constexpr (per == 2) {
      const int a = at(2 * i), b = at(2 * i + 1);
      out = __byte_perm(word(a / 2), word(b / 2), (a % 2 ? 0x32 : 0x10) + (b % 2 ? 0x7600 : 0x5400));
    } else {
      const int a = at(4 * i), b = at(4 * i + 1), c = at(4 * i + 2), d = at(4 * i + 3);
      const unsigned low = __byte_perm(word(a / 4), word(b / 4), a % 4 + (4 + b % 4) * 16);
      const unsigned high = __byte_perm(word(c / 4), word(d / 4), c % 4 + (4 + d % 4) * 16);
      out = __byte_perm(low, high, 0x5410);
    }
  }
}

// Few columns.                                              x: [matrices][rows, Width]  y: [matrices][Width, rows]
// A group is V rows of x, held by one thread. The first block of a matrix copies the rows at either end that are not in
// whole groups, or not in whole chunks of y, one by one.
// Preconditions: rows of x have no gaps, and each matrix of it starts on 16 bytes; gridDim.x is all tiles; shifted:
// y_shifted().
template <class Policy, class T, int Width>
__global__ void __launch_bounds__(Policy::config.threads)
    transpose_thin(const T* x, T* y, Form f, Tiles tiles, bool shifted) {
  constexpr Config c = Policy::config;
  constexpr int V = per_chunk(sizeof(T));
  const simt::tile<thin_lanes> lanes;
  const TileIndex at = tile_of_block<1>(tiles);
  const Axes::Offsets matrix = f.outer(at.matrix);
  const std::int64_t groups = f.rows / V;
  const std::int64_t group = std::int64_t{at.row - 1} * thin_groups(c, sizeof(T), Width, shifted) +
                             lanes.index() * (thin_lanes - shifted) + lanes.rank() - shifted;
  const bool exists = group >= 0 && group < groups;
  x += matrix.x;
  y += matrix.y;
  tile::grid_dependency_wait();
  if (at.row == 0) return copy_remainder<c.threads, Width>(x, y, f);

  Packed rows[Width], columns[Width];
#pragma unroll
  for (int k = 0; k < Width; ++k)  // load
    rows[k] = exists ? tile::load_packed(x + (group * Width + k) * V) : Packed{};
  tile::launch_dependents();
  rearrange<T>(rows, columns, [](int unit) { return unit % V * Width + unit / V; });
#pragma unroll
  for (int k = 0; k < Width; ++k) {
    T* column = y + k * f.pitch_y;
    Packed chunk = columns[k];
    const int past = chunk_offset(column);  // rows of the previous group at the start of this group's chunk
    if (shifted) chunk = window_of(lanes.shfl_up(chunk, 1), chunk, chunk_bytes - past * static_cast<int>(sizeof(T)));
    if (exists && lanes.rank() >= shifted && group * V >= past) store_packed(column + group * V - past, chunk);
  }
}

namespace thin {

template <class Policy, class T> static Status launch(const Call<T>& call) {
  using Kernel = void (*)(const T*, T*, Form, Tiles, bool);
  const Form& f = call.form;
  [[maybe_unused]] const auto start = [&](Kernel kernel) {
    return tile::launch_dependent(call.plan.device.cc, launch_config(call), kernel, call.x, call.y, f,
                                  tiles_of(Policy::config, f), y_shifted(f));
  };
  if constexpr (sizeof(T) < chunk_bytes) {
    switch (f.cols) {
      case 2: return start(transpose_thin<Policy, T, 2>);
      case 3: return start(transpose_thin<Policy, T, 3>);
      case 4:
        if constexpr (is_quads(sizeof(T), 4)) return start(transpose_quads<Policy, T>);
        else return start(transpose_thin<Policy, T, 4>);
      case 8: return start(transpose_thin<Policy, T, 8>);
    }
  }
  return Status::error(Code::unsupported,
                       "transpose: this variant has no kernel for so many columns");  // refused by fits()
}

}  // namespace thin
}  // namespace ridge::transpose_detail
