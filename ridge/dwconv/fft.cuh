// A block's Fourier transform of N complex numbers, sixteen of them in each thread's registers.
//
// N is 16^passes times 1, 2, 4 or 8. A pass takes sixteen numbers that are a sixteenth of a span apart, and leaves
// sixteen spans of that length; what is left over is a last, smaller pass. Frequencies come out in the order that the
// passes leave them in, and the way back takes them in that order: products of two transforms need no other.
#pragma once
#include <ridge/dwconv/variants.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::dwconv_detail {

struct alignas(8) Complex {
  float re, im;
};
__device__ __forceinline__ Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
__device__ __forceinline__ Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
__device__ __forceinline__ Complex operator*(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__device__ __forceinline__ Complex conjugate(Complex a) { return {a.re, -a.im}; }

// e^(-i pi k / 8), k below 10, of which products of two digits below 4 make use.
__device__ __forceinline__ constexpr Complex sixteenth(int k) {
  constexpr float c = 0.92387953251128674f, s = 0.38268343236508977f, r = 0.70710678118654752f;
  constexpr Complex roots[10] = {{1, 0},   {c, -s},  {r, -r},  {s, -c}, {0, -1},
                                 {-s, -c}, {-r, -r}, {-c, -s}, {-1, 0}, {-c, s}};
  return roots[k];
}

// Transforms of R numbers, `step` apart; the way back, where Back, without the division by R.
template <bool Back> __device__ __forceinline__ Complex turned(Complex a) {  // by a quarter
  return Back ? Complex{-a.im, a.re} : Complex{a.im, -a.re};
}
__device__ __forceinline__ void butterfly_2(Complex& a, Complex& b) {
  const Complex sum = a + b;
  b = a - b;
  a = sum;
}
template <bool Back> __device__ __forceinline__ void butterfly_4(Complex& a, Complex& b, Complex& c, Complex& d) {
  const Complex even = a + c, odd = b + d, across = a - c, around = turned<Back>(b - d);
  a = even + odd;
  b = across + around;
  c = even - odd;
  d = across - around;
}
template <bool Back> __device__ __forceinline__ void butterfly_8(Complex* z) {
  butterfly_4<Back>(z[0], z[2], z[4], z[6]);
  butterfly_4<Back>(z[1], z[3], z[5], z[7]);
  Complex out[8];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const Complex w = Back ? conjugate(sixteenth(2 * k)) : sixteenth(2 * k);
    const Complex odd = z[2 * k + 1] * w;
    out[k] = z[2 * k] + odd;
    out[k + 4] = z[2 * k] - odd;
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) z[k] = out[k];
}
template <bool Back> __device__ __forceinline__ void butterfly_16(Complex (&z)[16]) {
#pragma unroll
  for (int j = 0; j < 4; ++j) butterfly_4<Back>(z[j], z[j + 4], z[j + 8], z[j + 12]);
#pragma unroll
  for (int k = 1; k < 4; ++k)
#pragma unroll
    for (int j = 1; j < 4; ++j) z[j + 4 * k] = z[j + 4 * k] * (Back ? conjugate(sixteenth(j * k)) : sixteenth(j * k));
  Complex out[16];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    butterfly_4<Back>(z[4 * k], z[4 * k + 1], z[4 * k + 2], z[4 * k + 3]);
#pragma unroll
    for (int j = 0; j < 4; ++j) out[k + 4 * j] = z[4 * k + j];
  }
#pragma unroll
  for (int k = 0; k < 16; ++k) z[k] = out[k];
}

template <int N> struct BlockFft {
  static constexpr int threads = fft_threads(N);
  static constexpr int passes = N >= 65536 ? 4 : N >= 4096 ? 3 : 2;
  static constexpr int last = N >> 4 * passes;  // of the smaller pass
  static constexpr int turned_passes = last == 1 ? passes - 1 : passes;
  static_assert(N >= 256 && last << 4 * passes == N && last <= 8);
  static constexpr int span(int pass) { return N >> 4 * pass; }

  int thread;
  Complex* exchange;     // [fft_words(N)]
  const Complex* roots;  // fft_roots(N): of each pass [4][span / 16]

  // shared: fft_words(N) + fft_roots(N) in shared memory. The first forward() has the barrier before which nobody
  // reads. e^(-2 pi i n b / span) of places n in a pass's span and b = 1, 2, 4, 8: all others are products of these.
  __device__ __forceinline__ explicit BlockFft(Complex* shared)
      : thread(static_cast<int>(threadIdx.x)), exchange(shared), roots(shared + fft_words(N)) {
    Complex* to = shared + fft_words(N);
#pragma unroll
    for (int pass = 0; pass < turned_passes; ++pass) {
      const int step = span(pass) / 16;
      for (int i = thread; i < 4 * step; i += threads) {
        const int part = i % step << i / step;
        sincospif(static_cast<float>(-2 * part) / static_cast<float>(span(pass)), &to[i].im, &to[i].re);
      }
      to += 4 * step;
    }
  }

  // z[e] of thread t is number t + e * threads. Afterwards the frequencies, in the passes' order.
  // All of the block's threads call; a barrier comes before the first access.
  __device__ __forceinline__ void forward(Complex (&z)[16]) const {
    __syncthreads();
#pragma unroll
    for (int pass = 0; pass < passes; ++pass) {
      if (pass > 0) pass_on(z, span(pass - 1), span(pass));
      butterfly_16<false>(z);
      if (pass < turned_passes) turn<false>(z, pass);
    }
    if constexpr (last > 1) {
      pass_on(z, span(passes - 1), fft_radix);
      last_pass<false>(z);
    }
  }

  // Back, times N. What the block's threads read last in `exchange` was their own, as forward() leaves it.
  __device__ __forceinline__ void back(Complex (&z)[16]) const {
    if constexpr (last > 1) {
      last_pass<true>(z);
      pass_on(z, fft_radix, span(passes - 1));
    }
#pragma unroll
    for (int pass = passes - 1; pass >= 0; --pass) {
      if (pass < turned_passes) turn<true>(z, pass);
      butterfly_16<true>(z);
      if (pass > 0) pass_on(z, span(pass), span(pass - 1));
    }
  }

 private:
  // A thread's sixteen in shared memory, for a pass over spans of a length.
  static __device__ __forceinline__ int first_of(int thread, int span) {
    const int step = span / 16;
    return thread / step * span + thread % step;
  }
  // From the places of one pass to those of the next. Nobody else reads or writes a thread's places of one pass. They
  // are sixteenths of a span apart, so the free places between them add up:
  // place(first + e step) = place(first) + place(e step).
  __device__ __forceinline__ void pass_on(Complex (&z)[16], int from, int to) const {
#pragma unroll
    for (int e = 0; e < 16; ++e) exchange[fft_place(first_of(thread, from)) + fft_place(e * (from / 16))] = z[e];
    __syncthreads();
#pragma unroll
    for (int e = 0; e < 16; ++e) z[e] = exchange[fft_place(first_of(thread, to)) + fft_place(e * (to / 16))];
  }

  static constexpr int roots_before(int pass) {
    int roots = 0;
    for (int i = 0; i < pass; ++i) roots += 4 * (span(i) / 16);
    return roots;
  }
  template <bool Back> __device__ __forceinline__ void turn(Complex (&z)[16], int pass) const {
    const int step = span(pass) / 16;
    const Complex* of = roots + roots_before(pass) + thread % step;
    Complex w[8];  // of numbers 1 to 7
#pragma unroll
    for (int e = 1; e < 16; ++e) {
      const int top = e >= 8 ? 3 : e >= 4 ? 2 : e >= 2 ? 1 : 0, rest = e - (1 << top);
      const Complex root = rest == 0 ? of[top * step] : of[top * step] * w[rest];
      if (e < 8) w[e] = root;
      z[e] = z[e] * (Back ? conjugate(root) : root);
    }
  }

  template <bool Back> static __device__ __forceinline__ void last_pass(Complex (&z)[16]) {
#pragma unroll
    for (int e = 0; e < 16; e += last) {
      if constexpr (last == 2) butterfly_2(z[e], z[e + 1]);
      else if constexpr (last == 4) butterfly_4<Back>(z[e], z[e + 1], z[e + 2], z[e + 3]);
      else if constexpr (last == 8) butterfly_8<Back>(z + e);
    }
  }
};

}  // namespace ridge::dwconv_detail
