// A channel's rows of float32 in shared memory, in wgmma's layout: chunks of 64 steps of 32 rows of the batch. A chunk
// is 64 lines of 128 bytes in the 128-byte swizzle: the rows' lo, then their hi components (sm80_split.cuh). The same
// layout is an operand whose k is time (K-major), and one whose k is the batch (MN-major).
#pragma once
#include <ridge/dwconv/sm80_split.cuh>
#include <ridge/dwconv/sm90_lines.hpp>
#include <ridge/tile/async_copy.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>
#include <ridge/tile/sm90/wgmma.cuh>

namespace ridge::dwconv_detail {

//
// Before a chunk is split, its float32 occupy the same bytes: a row's 256 bytes in its two lines. The threads that
// fetch a row, all of one warp, split it too, so that no other warp has to wait for them.
template <int Threads> struct Lines {
  static constexpr int vector = 4;                                      // elements of 16 bytes
  static constexpr int vectors = band_rows * chunk / Threads / vector;  // per thread and chunk
  static constexpr int row_lanes = chunk / vectors / vector;            // threads per row
  static_assert(vectors >= 1 && vectors * vector * Threads == band_rows * chunk && row_lanes <= 32);
  using Values = float[vectors][vector];

  static __device__ __forceinline__ int row() { return static_cast<int>(threadIdx.x) / row_lanes; }
  static __device__ __forceinline__ int in_row() { return static_cast<int>(threadIdx.x) % row_lanes; }
  // First element of a thread's u-th vector within its row's chunk.
  static __device__ __forceinline__ int first(int u) { return (u * row_lanes + in_row()) * vector; }
  static __device__ __forceinline__ float* fetched(unsigned char* lines, int number, int u) {
    constexpr int in_line = tile::sm90::line_bytes / sizeof(float);
    const unsigned line = first(u) / in_line * band_rows + row();
    return reinterpret_cast<float*>(lines + number * lines_bytes +
                                    tile::sm90::swizzled(line, first(u) % in_line * sizeof(float)));
  }

  // Starts to fetch a chunk, with vectors in memory order. Steps from `end` on are 0. aligned:
  // rows can be read in whole vectors.
  static __device__ __forceinline__ void fetch(unsigned char* lines, int number, const float* row, std::int64_t step,
                                               int end, bool aligned) {
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
      const int x = number * chunk + first(u);
      float* to = fetched(lines, number, u);
      if (aligned && x + vector <= end) {
        tile::copy_async<16>(to, step > 0 ? row + x : row - (x + vector - 1));
      } else {
#pragma unroll 1
        for (int i = 0; i < vector; ++i) {
          const int at = step > 0 ? x + i : x + vector - 1 - i;
          tile::copy_async<4>(to + i, at < end ? row + at * step : row, at < end ? 4 : 0);
        }
      }
    }
  }
  // Reads the elements that this thread fetched and has waited for, in the row's order.
  static __device__ __forceinline__ void read(Values& x, unsigned char* lines, int number, std::int64_t step) {
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
      const auto raw = simt::load<vector>(static_cast<const float*>(fetched(lines, number, u)));
#pragma unroll
      for (int i = 0; i < vector; ++i) x[u][i] = step > 0 ? raw[i] : raw[vector - 1 - i];
    }
  }
  static __device__ __forceinline__ void measure(Magnitudes& m, const Values& x) {
#pragma unroll
    for (int u = 0; u < vectors; ++u)
#pragma unroll
      for (int i = 0; i < vector; ++i) m.add(x[u][i]);
  }
  // Stores a row's components over its float32, which its threads have read; zeros if it is not in range.
  static __device__ __forceinline__ void put(unsigned char* lines, int number, const Values& x, float by, bool serves) {
    simt::tile<32>().sync();
#pragma unroll
    for (int u = 0; u < vectors; ++u) {
      simt::vec<half, vector> component[2];
#pragma unroll
      for (int i = 0; i < vector; ++i) {
        const Split<float> split(serves ? x[u][i] : 0.0f, by);
        component[0][i] = split.component[0];
        component[1][i] = split.component[1];
      }
#pragma unroll
      for (int p = 0; p < 2; ++p)
        simt::store(reinterpret_cast<half*>(lines + number * lines_bytes +
                                            tile::sm90::swizzled((1 - p) * band_rows + row(), first(u) * sizeof(half))),
                    component[p]);
    }
  }
};

}  // namespace ridge::dwconv_detail
