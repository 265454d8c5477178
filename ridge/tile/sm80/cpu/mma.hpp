// mma.sync and ldmatrix on the CPU runtime, for 16-bit types. The lanes of a warp show each other what they have.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/tile/sm80/arch.cuh>
#include <ridge/tile/sm80/fragment.hpp>

#include <cstring>

namespace ridge::tile::sm80 {

namespace detail {

// What a warp's lanes have put down. A block's threads share an OS thread.
struct Shown {
  static constexpr int warps = 32, words = 6;
  unsigned lane[32][words];
};
inline Shown& shown() {
  static thread_local Shown all[Shown::warps];
  return all[threadIdx.x / 32];
}
// read() of what every lane has shown.
template <std::size_t N, class Read> void exchange(const unsigned (&mine)[N], Read read) {
  static_assert(N <= Shown::words);
  const simt::tile<32> warp;
  warp.sync();  // all have read what was there
  std::memcpy(shown().lane[threadIdx.x % 32], mine, sizeof mine);
  warp.sync();
  read(shown());
}

template <class T> float half_of(unsigned word, unsigned half) {
  T pair[2];
  std::memcpy(pair, &word, sizeof word);
  return static_cast<float>(pair[half]);
}

}  // namespace detail

template <bool Transposed> void load_matrices(unsigned (&fragment)[4], unsigned from) {
  if (from % piece_bytes != 0)
    simt::detail::misaligned(simt::dynamic_shared<char>() + from, piece_bytes, simt::detail::where::current());
  detail::exchange({from}, [&](const detail::Shown& all) {
    const unsigned lane = threadIdx.x % 32;
    const auto element = [&](unsigned matrix, unsigned row, unsigned column) {
      std::uint16_t bits;
      std::memcpy(&bits, simt::dynamic_shared<char>() + all.lane[matrix * 8 + row][0] + column * sizeof bits,
                  sizeof bits);
      return bits;
    };
    for (unsigned m = 0; m < 4; ++m) {
      unsigned word = 0;
      for (unsigned e = 0; e < 2; ++e) {
        const unsigned outer = lane / 4, inner = lane % 4 * 2 + e;
        word |= static_cast<unsigned>(Transposed ? element(m, inner, outer) : element(m, outer, inner)) << 16 * e;
      }
      fragment[m] = word;
    }
  });
}

// sums += a b, 16 x 8: of b's fragment the columns from 8 half on, half being 0 or 1.
template <class T> void multiply(float (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[4], int half) {
  detail::exchange({a[0], a[1], a[2], a[3], b[half], b[half + 2]}, [&](const detail::Shown& all) {
    for (unsigned i = 0; i < 4; ++i) {
      const Place at = sum_at(threadIdx.x % 32, i);
      for (unsigned k = 0; k < 16; ++k) {
        const unsigned in_quad = k % 8 / 2;
        const unsigned of_a = all.lane[at.row % 8 * 4 + in_quad][at.row / 8 + k / 8 * 2];
        const unsigned of_b = all.lane[at.col * 4 + in_quad][4 + k / 8];
        sums[i] += detail::half_of<T>(of_a, k % 2) * detail::half_of<T>(of_b, k % 2);
      }
    }
  });
}

}  // namespace ridge::tile::sm80
