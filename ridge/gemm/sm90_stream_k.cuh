// Stream-K in Hopper's kernel: which parts of tiles a block has, and how sums pass from block to block.
#pragma once
#include <ridge/gemm/stream_k.hpp>
#include <ridge/simt/simt.hpp>
#include <ridge/tile/sm90/run_flag.cuh>

namespace ridge::gemm_kernels {

// Steps of a tile that a block computes: the first one, and how many.
struct TilePart {
  int first, steps;
  __device__ __forceinline__ bool begins() const { return first == 0; }
};

// The memory of the exchange (stream_k.hpp), and the number of the run.
struct StreamKExchange {
  float* sums;
  tile::Arrivals* flags;
  tile::Arrivals run;
};

// Scheduler of a block's parts: its tiles of the whole waves, then those of its range. Ranges are numbered from the
// last block on, because a block waits for the ranges behind its own.   Tiles: TileScheduler
template <class Tiles> class StreamKScheduler {
 public:
  template <class W>
  __device__ StreamKScheduler(const W& w, int rank)
      : tiles_(w, rank),
        cut_(tiles_.total, static_cast<unsigned>(w.steps), gridDim.x),
        range_(gridDim.x - 1 - blockIdx.x),
        at_(cut_.begin(range_)),
        end_(cut_.begin(range_ + 1)) {}
  __device__ __forceinline__ bool more() const { return is_whole() || at_ < end_; }
  __device__ __forceinline__ void next(unsigned = 1) {
    if (is_whole()) tiles_.next();
    else at_ = ::min(end_, end_of_tile());
  }
  __device__ __forceinline__ auto at() const {
    Tiles tiles = tiles_;
    if (!is_whole()) tiles.index = cut_.whole + at_ / cut_.steps;
    return tiles.at();
  }
  __device__ __forceinline__ TilePart part() const {
    if (is_whole()) return {0, static_cast<int>(cut_.steps)};
    return {static_cast<int>(at_ % cut_.steps), static_cast<int>(::min(end_, end_of_tile()) - at_)};
  }
  __device__ __forceinline__ unsigned range() const { return range_; }
  // f(range) for each of the other ranges that have parts of this tile, in the order of k.
  // Precondition: this range has its beginning.
  template <class F> __device__ __forceinline__ void for_others(F f) const {
    if (is_whole()) return;
    const unsigned end = end_of_tile();
    unsigned begin = end_;
    RIDGE_KEEP_LOOP
    for (unsigned range = range_ + 1; begin < end; ++range) {
      const unsigned next = cut_.begin(range + 1);
      if (next > begin) f(range);
      begin = next;
    }
  }

 private:
  __device__ __forceinline__ bool is_whole() const { return tiles_.index < cut_.whole; }
  __device__ __forceinline__ unsigned end_of_tile() const { return (at_ / cut_.steps + 1) * cut_.steps; }

  Tiles tiles_;
  StreamK cut_;
  unsigned range_, at_, end_;
};

// A warpgroup's sums in the exchange: [blocks][N / 4][128 threads][4].
template <int Blocks, int N> struct PartialSums {
  static constexpr int bytes = Blocks * N * 128 * 4;

  static __device__ __forceinline__ void store(float* to, const float (&sums)[Blocks][N]) {
    to += threadIdx.x % 128 * 4;
#pragma unroll
    for (int i = 0; i < Blocks; ++i)
#pragma unroll
      for (int j = 0; j < N; j += 4)
        simt::store_global(to + (i * N + j) * 128,
                           simt::vec<float, 4>{sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]});
  }
  static __device__ __forceinline__ void add(const float* from, float (&sums)[Blocks][N]) {
    from += threadIdx.x % 128 * 4;
    constexpr int at_once = 8;  // vectors, whose registers the epilogue does not use yet
    static_assert(N % (4 * at_once) == 0);
#pragma unroll
    for (int i = 0; i < Blocks; ++i)
#pragma unroll
      for (int j = 0; j < N; j += 4 * at_once) {
        simt::vec<float, 4> more[at_once];
#pragma unroll
        for (int v = 0; v < at_once; ++v) more[v] = simt::load<4>(from + (i * N + j + 4 * v) * 128);
#pragma unroll
        for (int v = 0; v < at_once; ++v)
#pragma unroll
          for (int e = 0; e < 4; ++e) sums[i][j + 4 * v + e] += more[v][e];
      }
  }
};

}  // namespace ridge::gemm_kernels
