// Tiles of 16-bit elements in shared memory, as kernels on Hopper have TMA bring them and look through them for NaN and
// infinite values.
#pragma once
#include <ridge/attention/arguments.cuh>
#include <ridge/attention/special.cuh>
#include <ridge/tile/sm90/tensor_map.cuh>
#include <ridge/tile/sm90/tma.cuh>

namespace ridge::attention_kernels {

// The parities of barriers of which a thread waits for each phase, but not one in each round of the stages.
struct Parities {
  unsigned bits = 0;
  __device__ __forceinline__ void await(tile::sm90::Barrier* barriers, int stage) {
    tile::sm90::wait(barriers + stage, bits >> stage & 1);
    bits ^= 1u << stage;
  }
};

// Brings Rows x Columns from (row, column) on, panel by panel, which lie `apart` bytes from each other.
template <int Rows, int Columns>
__device__ __forceinline__ void load_panels(const tile::sm90::TensorMap* map, unsigned char* to,
                                            tile::sm90::Barrier* full, int row, int head, int batch,
                                            int apart = mma_tile_bytes(Rows, panel), int column = 0) {
  tile::sm90::arrive_expecting(full, mma_tile_bytes(Rows, Columns));
#pragma unroll
  for (int p = 0; p < panels(Columns); ++p)
    tile::sm90::load(map, to + p * apart, full, column + p * panel, row, head, batch);
}

// Whether a tile in shared memory has NaN or infinite values in what this one of `Threads` threads looks at.
template <int Bytes, int Threads, class T>
__device__ __forceinline__ bool finds_special(const unsigned char* tile, int thread) {
  unsigned marks = 0;
#pragma unroll 2  // few registers
  for (int at = thread * 16; at < Bytes; at += Threads * 16) {
    const auto words = simt::load<4>(reinterpret_cast<const unsigned*>(tile + at));
#pragma unroll
    for (int w = 0; w < 4; ++w) marks |= marked<T>(words[w]);
  }
  return marks != 0;
}

// 0 in the place of such values.
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
