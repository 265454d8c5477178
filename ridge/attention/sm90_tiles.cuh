// Tiles of 16-bit elements in shared memory: loads by TMA, and the search for NaN and infinity, for kernels on Hopper.
#pragma once
#include <ridge/attention/arguments.cuh>
#include <ridge/attention/special.cuh>
#include <ridge/tile/sm90/tensor_map.cuh>
#include <ridge/tile/sm90/tma.cuh>

namespace ridge::attention_kernels {

// Parities of barriers: a thread waits for each phase of a barrier, but does not use every stage in every round.
struct Parities {
  unsigned bits = 0;
  __device__ __forceinline__ void await(tile::sm90::Barrier* barriers, int stage) {
    tile::sm90::wait(barriers + stage, bits >> stage & 1);
    bits ^= 1u << stage;
  }
};

// Loads Rows x Columns from (row, column) on, panel by panel of Panel columns, whose lines have 128 bytes; panels are
// `apart` bytes apart.
template <int Rows, int Columns, int Panel = panel>
__device__ __forceinline__ void load_panels(const tile::sm90::TensorMap* map, unsigned char* to,
                                            tile::sm90::Barrier* full, int row, int head, int batch,
                                            int apart = mma_tile_bytes(Rows, panel), int column = 0) {
  constexpr int count = (Columns + Panel - 1) / Panel;
  tile::sm90::arrive_and_expect_tx(full, count * Rows * tile::sm90::line_bytes);
#pragma unroll
  for (int p = 0; p < count; ++p) tile::sm90::load(map, to + p * apart, full, column + p * Panel, row, head, batch);
}

// Whether the part of a tile that belongs to this one of `Threads` threads has NaN or infinite values.
template <int Bytes, int Threads, class T>
__device__ __forceinline__ bool finds_special(const unsigned char* tile, int thread) {
  unsigned marks = 0;
#pragma unroll 2  // saves registers
  for (int at = thread * 16; at < Bytes; at += Threads * 16) {
    const auto words = simt::load<4>(reinterpret_cast<const unsigned*>(tile + at));
#pragma unroll
    for (int w = 0; w < 4; ++w) marks |= marked<T>(words[w]);
  }
  return marks != 0;
}

// Replaces such values by 0.
template <int Bytes, int Threads, class T>
__device__ __forceinline__ void clear_special(unsigned char* tile, int thread) {
#pragma unroll 1
  for (int at = thread * 16; at < Bytes; at += Threads * 16) {
    auto* piece = reinterpret_cast<unsigned*>(tile + at);
    simt::vec<unsigned, 4> words = simt::load<4>(piece);
#pragma unroll
    for (int w = 0; w < 4; ++w) words[w] = without_special<T>(words[w]);
    simt::store(piece, words);
  }
}

}  // namespace ridge::attention_kernels
