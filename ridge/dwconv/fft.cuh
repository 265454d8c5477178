// The Fourier transform of N complex numbers by a block, sixteen of them in each thread's registers.
//
// N is 16^passes times 1, 2, 4 or 8. A radix-16 pass takes sixteen numbers with a stride of a sixteenth of a span, and
// leaves sixteen spans of that length; a last, smaller pass does the rest. Frequencies come out in the order of the
// passes (digit-reversed), and the inverse takes them in that order: products of two transforms need no other.
#pragma once
#include <ridge/dwconv/fft.hpp>
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

// e^(-i pi k / 8), k < 10: k is a product of two digits below 4.
__device__ __forceinline__ constexpr Complex sixteenth(int k) {
  constexpr float c = 0.92387953251128674f, s = 0.38268343236508977f, r = 0.70710678118654752f;
  constexpr Complex roots[10] = {{1, 0},   {c, -s},  {r, -r},  {s, -c}, {0, -1},
                                 {-s, -c}, {-r, -r}, {-c, -s}, {-1, 0}, {-c, s}};
  return roots[k];
}

// Butterflies: transforms of R numbers; Inverse: the inverse transform, without the division by R.
template <bool Inverse> __device__ __forceinline__ Complex rotated(Complex a) {  // by a quarter turn
  return Inverse ? Complex{-a.im, a.re} : Complex{a.im, -a.re};
}
__device__ __forceinline__ void butterfly_2(Complex& a, Complex& b) {
  const Complex sum = a + b;
  b = a - b;
  a = sum;
}
template <bool Inverse> __device__ __forceinline__ void butterfly_4(Complex& a, Complex& b, Complex& c, Complex& d) {
  const Complex even = a + c, odd = b + d, across = a - c, around = rotated<Inverse>(b - d);
  a = even + odd;
  b = across + around;
  c = even - odd;
  d = across - around;
}
template <bool Inverse> __device__ __forceinline__ void butterfly_8(Complex* z) {
  butterfly_4<Inverse>(z[0], z[2], z[4], z[6]);
  butterfly_4<Inverse>(z[1], z[3], z[5], z[7]);
  Complex out[8];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const Complex w = Inverse ? conjugate(sixteenth(2 * k)) : sixteenth(2 * k);
    const Complex odd = z[2 * k + 1] * w;
    out[k] = z[2 * k] + odd;
    out[k + 4] = z[2 * k] - odd;
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) z[k] = out[k];
}
template <bool Inverse> __device__ __forceinline__ void butterfly_16(Complex (&z)[16]) {
#pragma unroll
  for (int j = 0; j < 4; ++j) butterfly_4<Inverse>(z[j], z[j + 4], z[j + 8], z[j + 12]);
#pragma unroll
  for (int k = 1; k < 4; ++k)
#pragma unroll
    for (int j = 1; j < 4; ++j)
      z[j + 4 * k] = z[j + 4 * k] * (Inverse ? conjugate(sixteenth(j * k)) : sixteenth(j * k));
  Complex out[16];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    butterfly_4<Inverse>(z[4 * k], z[4 * k + 1], z[4 * k + 2], z[4 * k + 3]);
#pragma unroll
    for (int j = 0; j < 4; ++j) out[k + 4 * j] = z[4 * k + j];
  }
#pragma unroll
  for (int k = 0; k < 16; ++k) z[k] = out[k];
}

template <int N> struct BlockFft {
  static constexpr int threads = fft_threads(N);
  static constexpr int passes = N >= 65536 ? 4 : N >= 4096 ? 3 : 2;
  static constexpr int last = N >> 4 * passes;  // radix of the smaller pass; 1: there is none
  static constexpr int twiddled_passes = last == 1 ? passes - 1 : passes;
  static_assert(N >= 256 && last << 4 * passes == N && last <= 8);
  static constexpr int span(int pass) { return N >> 4 * pass; }

  int thread;
  Complex* exchange;        // [fft_words(N)]
  const Complex* twiddles;  // [fft_twiddles(N)]: for each pass [4][span / 16]

  // shared: fft_words(N) + fft_twiddles(N) in shared memory. The first forward() has the barrier before the first read.
  // Stores e^(-2 pi i n b / span) for positions n in a pass's span and b = 1, 2, 4, 8: the others are their products.
  __device__ __forceinline__ explicit BlockFft(Complex* shared)
      : thread(static_cast<int>(threadIdx.x)), exchange(shared), twiddles(shared + fft_words(N)) {
    Complex* to = shared + fft_words(N);
#pragma unroll
    for (int pass = 0; pass < twiddled_passes; ++pass) {
      const int step = span(pass) / 16;
      for (int i = thread; i < 4 * step; i += threads) {
        const int numerator = i % step << i / step;
        sincospif(static_cast<float>(-2 * numerator) / static_cast<float>(span(pass)), &to[i].im, &to[i].re);
      }
      to += 4 * step;
    }
  }

  // z[e] of thread t is number t + e * threads; afterwards, a frequency in the passes' order.
  // All threads of the block call it; a barrier comes before the first access.
  __device__ __forceinline__ void forward(Complex (&z)[16]) const {
    __syncthreads();
#pragma unroll
    for (int pass = 0; pass < passes; ++pass) {
      if (pass > 0) redistribute(z, span(pass - 1), span(pass));
      butterfly_16<false>(z);
      if (pass < twiddled_passes) twiddle<false>(z, pass);
    }
    if constexpr (last > 1) {
      redistribute(z, span(passes - 1), fft_radix);
      last_pass<false>(z);
    }
  }

  // The inverse times N. Precondition: threads last read their own part of `exchange`, as after forward().
  __device__ __forceinline__ void inverse(Complex (&z)[16]) const {
    if constexpr (last > 1) {
      last_pass<true>(z);
      redistribute(z, fft_radix, span(passes - 1));
    }
#pragma unroll
    for (int pass = passes - 1; pass >= 0; --pass) {
      if (pass < twiddled_passes) twiddle<true>(z, pass);
      butterfly_16<true>(z);
      if (pass > 0) redistribute(z, span(pass), span(pass - 1));
    }
  }

 private:
  // A thread's first number in shared memory, for a pass over spans of this length.
  static __device__ __forceinline__ int first_of(int thread, int span) {
    const int step = span / 16;
    return thread / step * span + thread % step;
  }
  // Exchanges numbers from one pass's layout to the next's. In a layout, each thread reads and writes its own positions
  // alone. Their stride is a sixteenth of a span, so that the padding adds up:
  // fft_padded(first + e step) = fft_padded(first) + fft_padded(e step).
  __device__ __forceinline__ void redistribute(Complex (&z)[16], int from, int to) const {
#pragma unroll
    for (int e = 0; e < 16; ++e) exchange[fft_padded(first_of(thread, from)) + fft_padded(e * (from / 16))] = z[e];
    __syncthreads();
#pragma unroll
    for (int e = 0; e < 16; ++e) z[e] = exchange[fft_padded(first_of(thread, to)) + fft_padded(e * (to / 16))];
  }

  static constexpr int twiddles_before(int pass) {
    int count = 0;
    for (int i = 0; i < pass; ++i) count += 4 * (span(i) / 16);
    return count;
  }
  template <bool Inverse> __device__ __forceinline__ void twiddle(Complex (&z)[16], int pass) const {
    const int step = span(pass) / 16;
    const Complex* of = twiddles + twiddles_before(pass) + thread % step;
    Complex w[8];  // twiddles of numbers 1 to 7
#pragma unroll
    for (int e = 1; e < 16; ++e) {
      const int top = e >= 8 ? 3 : e >= 4 ? 2 : e >= 2 ? 1 : 0, rest = e - (1 << top);
      const Complex factor = rest == 0 ? of[top * step] : of[top * step] * w[rest];
      if (e < 8) w[e] = factor;
      z[e] = z[e] * (Inverse ? conjugate(factor) : factor);
    }
  }

  template <bool Inverse> static __device__ __forceinline__ void last_pass(Complex (&z)[16]) {
#pragma unroll
    for (int e = 0; e < 16; e += last) {
      if constexpr (last == 2) butterfly_2(z[e], z[e + 1]);
      else if constexpr (last == 4) butterfly_4<Inverse>(z[e], z[e + 1], z[e + 2], z[e + 3]);
      else if constexpr (last == 8) butterfly_8<Inverse>(z + e);
    }
  }
};

}  // namespace ridge::dwconv_detail
