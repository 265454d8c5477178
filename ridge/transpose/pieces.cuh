// Parts that this folder's kernels share: units as bits, 16-byte chunks, and the mapping of blocks to tiles.
#pragma once
#include <ridge/tile/async_copy.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/transpose/request.hpp>

namespace ridge::transpose_detail {

template <int Bytes> struct BitsOf { using type = simt::vec<std::uint64_t, 2>; };
template <> struct BitsOf<1> { using type = std::uint8_t; };
template <> struct BitsOf<2> { using type = std::uint16_t; };
template <> struct BitsOf<4> { using type = std::uint32_t; };
template <> struct BitsOf<8> { using type = std::uint64_t; };
template <int Bytes> using Bits = typename BitsOf<Bytes>::type;

using tile::Packed;
using tile::store_packed;
static_assert(sizeof(Packed) == chunk_bytes);

// The least that a lane reads from shared memory without sharing a bank: 4 bytes.
template <class T> using Word = std::conditional_t<(sizeof(T) < 4), unsigned, T>;
template <class T> inline constexpr int per_word = sizeof(Word<T>) / sizeof(T);

// Precondition: p is aligned to a word.
template <class T> __device__ __forceinline__ Word<T> load_word(const T* p) {
  if constexpr (per_word<T> == 1) return *p;
  else if constexpr (RIDGE_SIMT_ON_CUDA) return *reinterpret_cast<const unsigned*>(p);
  else {
    const auto units = simt::load<per_word<T>>(p);
    unsigned word;
    memcpy(&word, &units, sizeof word);
    return word;
  }
}

// Alignment offset of p in units: past the last 16-byte boundary. Precondition: p is aligned to its unit.
template <class T> __device__ __forceinline__ int chunk_offset(const T* p) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(p) % chunk_bytes / sizeof(T));
}

// The tile and matrix of a block. Blocks walk a rasterization group of `Strip` rows of tiles column by column, then the
// next group.
struct TileIndex {
  unsigned row, col, matrix;
};
template <int Strip> __device__ __forceinline__ TileIndex tile_of_block(const Tiles& tiles) {
  const unsigned down = static_cast<unsigned>(tiles.down), across = static_cast<unsigned>(tiles.across);
  const unsigned matrix = tiles.matrices > 1 ? blockIdx.x / (down * across) : 0;  // divisions cost in short kernels
  const unsigned tile = blockIdx.x - matrix * down * across;
  if constexpr (Strip == 1) {
    if (across == 1) return {tile, 0, matrix};
    return {tile / across, tile % across, matrix};
  }
  const unsigned most =
      min(static_cast<unsigned>(Strip), down);  // so that most * across is no more than there are blocks
  const unsigned strip = tile / (most * across), within = tile - strip * most * across;
  const unsigned height = min(most, down - strip * most);
  return {strip * most + within % height, within / height, matrix};
}

}  // namespace ridge::transpose_detail
