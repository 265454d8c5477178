// The transform of polynomials of N real coefficients modulo x^N - i to their values at its N roots, and its inverse.
//
// The product of two such polynomials modulo x^N - i has the first N coefficients of their product as its real part,
// and the others as its imaginary part. So a causal convolution of N steps needs N complex values, without zero padding
// and without two rows in one transform.
//
// A level halves the degree: a polynomial modulo x^2m - c^2 splits into one modulo x^m - c and one modulo x^m + c:
// a + c b and a - c b for its halves a and b. All coefficients of a part meet the same c, so the first levels' c are
// constants. Values come out in the order of the levels (bit-reversed), and the inverse takes them in that order.
#pragma once
#include <ridge/dwconv/fft.cuh>
#include <ridge/tile/opaque.cuh>

#include <utility>

namespace ridge::dwconv_detail {

// e^(i pi J / Count), 0 <= J < Count.
template <int J, int Count> struct RingRoot {
  // The series around a quarter turn, where it is short: cosine and sine are -sine and cosine of the angle above it.
  static constexpr double over = 3.14159265358979323846 * (2 * J - Count) / (2 * Count);
  static constexpr double series(bool odd) {  // odd: the sine's; else the cosine's
    double sum = 1;
    for (int k = 12; k > 0; --k) sum = 1 - over * over / ((2 * k - !odd) * (2 * k + odd)) * sum;
    return odd ? sum * over : sum;
  }
  static constexpr float re = static_cast<float>(-series(true)), im = static_cast<float>(series(false));
  static __device__ __forceinline__ constexpr Complex value() { return {re, im}; }
};
__device__ __forceinline__ Complex rotated_quarter(Complex a) { return {-a.im, a.re}; }

// a, b = a + c b, a - c b in six multiply-adds.
__device__ __forceinline__ void butterfly(Complex& a, Complex& b, Complex c) {
  const Complex sum{fmaf(c.re, b.re, fmaf(-c.im, b.im, a.re)), fmaf(c.re, b.im, fmaf(c.im, b.re, a.im))};
  b = {fmaf(2, a.re, -sum.re), fmaf(2, a.im, -sum.im)};
  a = sum;
}
// Its inverse, times two.
__device__ __forceinline__ void inverse_butterfly(Complex& a, Complex& b, Complex c) {
  const Complex difference{a.re - b.re, a.im - b.im};
  a = {a.re + b.re, a.im + b.im};
  b = {fmaf(c.re, difference.re, c.im * difference.im), fmaf(c.re, difference.im, -c.im * difference.re)};
}

constexpr int reversed_bits(int x, int bits) {
  int result = 0;
  for (int i = 0; i < bits; ++i) result |= (x >> i & 1) << (bits - 1 - i);
  return result;
}

// The transform by a block, sixteen values per thread.
template <int N> struct RingFft {
  static constexpr int R = fft_radix, threads = fft_threads(N), bits = log2_of(N), radix_bits = log2_of(R);
  static constexpr int passes = (bits + radix_bits - 1) / radix_bits;
  static_assert(1 << bits == N && 1 << radix_bits == R && passes >= 3);

  // The span that contains a thread's values in a pass, and their stride.
  static constexpr int span(int pass) { return pass == passes - 1 ? R : N >> pass * radix_bits; }
  static constexpr int step(int pass) { return span(pass) / R; }
  // Levels before the pass, if the pass was a whole one; and the levels of it that earlier passes have done.
  static constexpr int levels_before(int pass) { return log2_of(N / span(pass)); }
  static constexpr int levels_done(int pass) { return pass * radix_bits - levels_before(pass); }

  int thread;
  Complex* exchange;                      // [fft_words(N)]
  Complex roots[passes - 1][radix_bits];  // c of each level, for passes after the first, of the part's first half

  // c of level k within a pass is that of the first of 2^k parts times e^(i pi reversed(part) / 2^k): parts come in
  // bit-reversed order, and the roots of a part's two halves differ by a half turn.
  __device__ __forceinline__ explicit RingFft(Complex* exchange_)
      : thread(static_cast<int>(threadIdx.x)), exchange(exchange_) {
#pragma unroll
    for (int pass = 1; pass < passes; ++pass) {
      const int before = levels_before(pass);
      const int part = static_cast<int>(__brev(static_cast<unsigned>(thread / step(pass))) >> (32 - before));
#pragma unroll
      for (int k = 0; k < radix_bits; ++k) {
        Complex& root = roots[pass - 1][k];
        sincospif(static_cast<float>(1 + 4 * part) / static_cast<float>(1 << (before + k + 2)), &root.im, &root.re);
      }
    }
  }

  // x[e]: coefficient thread + e * threads. z: values, in the levels' order. All threads of the block call it, and it
  // has a barrier; after another forward() there must be a barrier before the call.
  __device__ __forceinline__ void forward(const float (&x)[R], Complex (&z)[R]) const {
    constexpr Complex c = RingRoot<R / 2, 2 * R>::value();
#pragma unroll
    for (int e = 0; e < R / 2; ++e) {  // a level of real numbers
      const float a = x[e], b = x[e + R / 2];
      z[e] = {fmaf(c.re, b, a), c.im * b};
      z[e + R / 2] = {fmaf(-c.re, b, a), -c.im * b};
    }
    levels<0, false, 1>(z);
    later_passes<false>(z, std::make_integer_sequence<int, passes - 1>());
  }
  // The inverse times N: coefficients are the real parts. Precondition: threads last read their own part of `exchange`.
  __device__ __forceinline__ void inverse(Complex (&z)[R]) const {
    later_passes<true>(z, std::make_integer_sequence<int, passes - 1>());
    levels<0, true>(z);
  }

 private:
  // The passes after the first, or their inverses.
  template <bool Inverse, int... P>
  __device__ __forceinline__ void later_passes(Complex (&z)[R], std::integer_sequence<int, P...>) const {
    if constexpr (Inverse) (pass_inverse<passes - 1 - P>(z), ...);
    else (pass_forward<P + 1>(z), ...);
  }
  template <int Pass> __device__ __forceinline__ void pass_forward(Complex (&z)[R]) const {
    redistribute<Pass - 1, Pass>(z);
    levels<Pass, false, levels_done(Pass)>(z);
  }
  template <int Pass> __device__ __forceinline__ void pass_inverse(Complex (&z)[R]) const {
    levels<Pass, true, levels_done(Pass)>(z);
    redistribute<Pass, Pass - 1>(z);
  }
  // The levels of a pass, with compile-time indices of registers and of constants.
  template <int Pass, bool Inverse, int First = 0> __device__ __forceinline__ void levels(Complex (&z)[R]) const {
    levels<Pass, Inverse, First>(z, std::make_integer_sequence<int, radix_bits - First>());
  }
  template <int Pass, bool Inverse, int First, int... K>
  __device__ __forceinline__ void levels(Complex (&z)[R], std::integer_sequence<int, K...>) const {
    if constexpr (Inverse) (level<Pass, true, radix_bits - 1 - K>(z), ...);
    else (level<Pass, false, First + K>(z), ...);
  }
  template <int Pass, bool Inverse, int K> __device__ __forceinline__ void level(Complex (&z)[R]) const {
    constexpr int count = (1 << K) / 2;
    pairs<Pass, Inverse, K>(z, std::make_integer_sequence < int, K == 0 ? 1 : count > ());
  }
  template <int Pass, bool Inverse, int K, int... P>
  __device__ __forceinline__ void pairs(Complex (&z)[R], std::integer_sequence<int, P...>) const {
    (butterflies<Pass, Inverse, K, 2 * P>(z), ...);
  }
  // Parts P and P + 1 of 2^K.
  template <int Pass, bool Inverse, int K, int P> __device__ __forceinline__ void butterflies(Complex (&z)[R]) const {
    constexpr int half = R >> (K + 1), at = reversed_bits(P, K);
    Complex c;
    if constexpr (Pass == 0) {
      c = RingRoot<(1 + 4 * at) << (radix_bits - 1 - K), 2 * R>::value();
    } else {
      c = roots[Pass - 1][K];
      if constexpr (at > 0) {  // recomputed: kept for the next row, they would take registers
        tile::make_opaque(c.re);
        tile::make_opaque(c.im);
        c = c * RingRoot<at << (radix_bits + 1 - K), 2 * R>::value();
      }
    }
#pragma unroll
    for (int e = P * 2 * half; e < P * 2 * half + half; ++e) {
      if constexpr (Inverse) inverse_butterfly(z[e], z[e + half], c);
      else butterfly(z[e], z[e + half], c);
      if constexpr (K > 0) {
        if constexpr (Inverse) inverse_butterfly(z[e + 2 * half], z[e + 3 * half], rotated_quarter(c));
        else butterfly(z[e + 2 * half], z[e + 3 * half], rotated_quarter(c));
      }
    }
  }

  // Exchanges values from one pass's layout to the next's. In a layout, each thread reads and writes its own positions
  // alone, so one barrier between is enough, among the threads that share a part. Strides are multiples of sixteen or
  // divide it, so that the padding adds up.
  template <int From, int To> __device__ __forceinline__ void redistribute(Complex (&z)[R]) const {
#pragma unroll
    for (int e = 0; e < R; ++e) exchange[first_padded<From>() + fft_padded(e * step(From))] = z[e];
    if constexpr (span(From < To ? From : To) / R > 32) __syncthreads();
    else simt::tile<32>().sync();
#pragma unroll
    for (int e = 0; e < R; ++e) z[e] = exchange[first_padded<To>() + fft_padded(e * step(To))];
  }
  template <int Pass> __device__ __forceinline__ int first_padded() const {
    return fft_padded(thread / step(Pass) * span(Pass) + thread % step(Pass));
  }
};

}  // namespace ridge::dwconv_detail
