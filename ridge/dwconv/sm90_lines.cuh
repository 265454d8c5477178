// A channel's rows of float32 in shared memory, as wgmma takes them: chunks of 64 steps, of 32 rows of the batch. A
// chunk is 64 lines of 128 bytes in the 128-byte swizzle: the rows' lo parts, then their hi parts (sm80_split.cuh). As
// they lie they are an operand whose k is time (K-major), and one whose k is the batch (MN-major).
#pragma once
#include <ridge/dwconv/sm80_split.cuh>
#include <ridge/tile/async_copy.cuh>
#include <ridge/tile/sm90/tma.cuh>
#include <ridge/tile/sm90/warpgroup.cuh>
#include <ridge/tile/sm90/wgmma.cuh>

namespace ridge::dwconv_detail {

//
// Until a chunk is split its float32 lie in the same place: a row's 256 bytes in its two lines. The threads that fetch
// a row, all of one warp, split it too, so that nobody else has to wait for them.
template <int Threads> struct Lines {
  static constexpr int unit = 4;                                    // elements of an access of 16 bytes
  static constexpr int units = band_rows * chunk / Threads / unit;  // of a thread and a chunk
  static constexpr int row_lanes = chunk / units / unit;            // threads of a row
  static_assert(units >= 1 && units * unit * Threads == band_rows * chunk && row_lanes <= 32);
  using Values = float[units][unit];

  static __device__ __forceinline__ int row() { return static_cast<int>(threadIdx.x) / row_lanes; }
  static __device__ __forceinline__ int in_row() { return static_cast<int>(threadIdx.x) % row_lanes; }
  // Where a thread's unit begins in its row's chunk.
  static __device__ __forceinline__ int first(int u) { return (u * row_lanes + in_row()) * unit; }
  static __device__ __forceinline__ float* fetched(unsigned char* lines, int number, int u) {
    constexpr int in_line = tile::sm90::line_bytes / sizeof(float);
    const unsigned line = first(u) / in_line * band_rows + row();
    return reinterpret_cast<float*>(lines + number * lines_bytes +
                                    tile::sm90::swizzled(line, first(u) % in_line * sizeof(float)));
  }

  // Starts to fetch a chunk, units in memory's order. Steps from `end` on are 0. whole:
  // rows can be read in whole units.
  static __device__ __forceinline__ void fetch(unsigned char* lines, int number, const float* row, std::int64_t step,
                                               int end, bool whole) {
#pragma unroll
    for (int u = 0; u < units; ++u) {
      const int x = number * chunk + first(u);
      float* to = fetched(lines, number, u);
      if (whole && x + unit <= end) {
        tile::copy_async<16>(to, step > 0 ? row + x : row - (x + unit - 1));
      } else {
#pragma unroll 1
        for (int i = 0; i < unit; ++i) {
          const int at = step > 0 ? x + i : x + unit - 1 - i;
          tile::copy_async<4>(to + i, at < end ? row + at * step : row, at < end ? 4 : 0);
        }
      }
    }
  }
  // What this thread fetched and has waited for, in the row's order.
  static __device__ __forceinline__ void read(Values& x, unsigned char* lines, int number, std::int64_t step) {
#pragma unroll
    for (int u = 0; u < units; ++u) {
      const auto raw = simt::load<unit>(static_cast<const float*>(fetched(lines, number, u)));
#pragma unroll
      for (int i = 0; i < unit; ++i) x[u][i] = step > 0 ? raw[i] : raw[unit - 1 - i];
    }
  }
  static __device__ __forceinline__ void measure(Magnitudes& m, const Values& x) {
#pragma unroll
    for (int u = 0; u < units; ++u)
#pragma unroll
      for (int i = 0; i < unit; ++i) m.add(x[u][i]);
  }
  // Puts the parts where a row was fetched, which its threads have read; zeros, where a scale does not serve it.
  static __device__ __forceinline__ void put(unsigned char* lines, int number, const Values& x, float by, bool serves) {
    simt::tile<32>().sync();
#pragma unroll
    for (int u = 0; u < units; ++u) {
      simt::vec<half, unit> part[2];
#pragma unroll
      for (int i = 0; i < unit; ++i) {
        const Split<float> split(serves ? x[u][i] : 0.0f, by);
        part[0][i] = split.part[0];
        part[1][i] = split.part[1];
      }
#pragma unroll
      for (int p = 0; p < 2; ++p)
        simt::store(reinterpret_cast<half*>(lines + number * lines_bytes +
                                            tile::sm90::swizzled((1 - p) * band_rows + row(), first(u) * sizeof(half))),
                    part[p]);
    }
  }
};

}  // namespace ridge::dwconv_detail
