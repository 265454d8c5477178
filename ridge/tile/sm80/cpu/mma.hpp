// mma.sync and ldmatrix on the CPU runtime, for all types but double.
// The lanes of a warp show each other what they have.
#pragma once
#include <ridge/core/dtype.hpp>
#include <ridge/tile/sm80/arch.cuh>
#include <ridge/tile/sm80/fragment.hpp>

#include <bit>
#include <cstring>
#include <type_traits>

namespace ridge::tile::sm80 {

namespace detail {

// What a warp's lanes have put down. A block's threads share an OS thread.
struct Shown {
  static constexpr int warps = 32;
  unsigned address[32];
  float a[16][32], b[8][32];  // [row][k], [column][k]
};
inline Shown& shown() {
  static thread_local Shown all[Shown::warps];
  return all[threadIdx.x / 32];
}
// show() of every lane, and then read().
template <class Show, class Read> void exchange(Show show, Read read) {
  const simt::tile<32> warp;
  warp.sync();  // all have read what was there
  show(shown());
  warp.sync();
  read(shown());
}

// The elements of a register.
template <class T> void put(float* to, unsigned word) {
  T elements[sizeof word / sizeof(T)];
  std::memcpy(elements, &word, sizeof word);
  for (const T& x : elements) *to++ = static_cast<float>(x);
}

}  // namespace detail

template <class T> void load_single(T& value, unsigned from) {
  std::memcpy(&value, simt::dynamic_shared<char>() + from, sizeof value);
}

// The float to the nearest TF32, and half-way away from zero.
inline void round_to_tf32(unsigned& x) {
  constexpr unsigned infinity = 0x7f800000, cut = 13;
  if ((x & infinity) != infinity) x = (x + (1u << (cut - 1))) >> cut << cut;
}

template <bool Transposed> void load_matrices(unsigned (&fragment)[4], unsigned from) {
  if (from % piece_bytes != 0)
    simt::detail::misaligned(simt::dynamic_shared<char>() + from, piece_bytes, simt::detail::where::current());
  const unsigned lane = threadIdx.x % 32;
  detail::exchange(
      [&](detail::Shown& all) { all.address[lane] = from; },
      [&](const detail::Shown& all) {
        const auto element = [&](unsigned matrix, unsigned row, unsigned column) {
          std::uint16_t bits;
          std::memcpy(&bits, simt::dynamic_shared<char>() + all.address[matrix * 8 + row] + column * sizeof bits,
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

inline unsigned transpose_matrix(unsigned pair) {
  const unsigned lane = threadIdx.x % 32, column = lane / 4;
  unsigned transposed = 0;
  detail::exchange([&](detail::Shown& all) { all.address[lane] = pair; },
                   [&](const detail::Shown& all) {
                     for (unsigned e = 0; e < 2; ++e) {
                       const unsigned row = lane % 4 * 2 + e;
                       transposed |= (all.address[row * 4 + column / 2] >> column % 2 * 16 & 0xffffu) << 16 * e;
                     }
                   });
  return transposed;
}

// sums += a b, 16 x 8: of b's fragment the columns from 8 half on, half being 0 or 1. Sum: float,
// of signed bytes int32, which wraps.
template <class T, class Sum> void multiply(Sum (&sums)[4], const unsigned (&a)[4], const unsigned (&b)[4], int half) {
  constexpr unsigned in_register = sizeof(unsigned) / sizeof(T), products = 8 * in_register;
  const unsigned lane = threadIdx.x % 32, outer = lane / 4, k = lane % 4 * in_register;
  const auto show = [&](detail::Shown& all) {
    for (unsigned i = 0; i < 4; ++i) detail::put<T>(&all.a[outer + i % 2 * 8][k + i / 2 * products / 2], a[i]);
    for (unsigned i = 0; i < 2; ++i)
      detail::put<T>(&all.b[outer][k + i * products / 2], b[half + 2 * static_cast<int>(i)]);
  };
  detail::exchange(show, [&](const detail::Shown& all) {
    for (unsigned i = 0; i < 4; ++i) {
      const Place at = sum_at(lane, i);
      float x[products], y[products];
      std::memcpy(x, all.a[at.row], sizeof x);
      std::memcpy(y, all.b[at.col], sizeof y);
      for (unsigned n = 0; n < products; ++n) {
        const Sum product = static_cast<Sum>(x[n]) * static_cast<Sum>(y[n]);
        if constexpr (std::is_integral_v<Sum>)
          sums[i] = static_cast<Sum>(static_cast<unsigned>(sums[i]) + static_cast<unsigned>(product));
        else sums[i] += product;
      }
    }
  });
}

}  // namespace ridge::tile::sm80
