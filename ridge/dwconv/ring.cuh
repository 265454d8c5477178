// The convolution and its gradients for rows that fit one transform: a transform of N values for N steps.
//
// A row, or the filter, is a polynomial modulo x^N - i (ring_fft.cuh), in the registers of a block's threads. A block
// transforms a channel's filter once, and then row after row of the batch. For w's gradient, products are accumulated
// over the batch in the frequency domain, with one inverse. The next row is in flight during a row's inverse transform.
//
// Errors are those of a transform: relative to the norms of a row and of the filter, and not to each output's own
// terms.
#pragma once
#include <ridge/dwconv/launch.cuh>
#include <ridge/dwconv/magnitudes.cuh>
#include <ridge/dwconv/ring.hpp>
#include <ridge/dwconv/ring_fft.cuh>

namespace ridge::dwconv_detail {

// Whether a row's magnitudes are in the transform's range.
__device__ __forceinline__ bool within(const Magnitudes& m, int least, int most) {
  return m.greatest == 0 || (m.exponent() >= least && m.exponent() <= most);
}

// A block's rows, sixteen steps per thread, and its shared memory.
template <class Policy, class T> struct RingRows {
  static constexpr int N = Policy::config.points, R = fft_radix, threads = Policy::config.threads, warps = threads / 32;

  RingFft<N> fft;
  int thread;
  Complex* other;      // [R][threads], each thread's own: the factors of rows
  unsigned* greatest;  // [2][warps]: magnitudes of two rows, or of the filter and a row

  __device__ __forceinline__ RingRows()
      : fft(simt::dynamic_shared<Complex>()),
        thread(static_cast<int>(threadIdx.x)),
        other(simt::dynamic_shared<Complex>() + fft_words(N) + thread),
        greatest(reinterpret_cast<unsigned*>(simt::dynamic_shared<Complex>() + fft_words(N) + N)) {}

  // Calls run(e, address of step thread + e * threads) for all steps that exist. The most frequent strides, 1 and -1,
  // are compile-time constants.
  template <class P, class Run>
  __device__ __forceinline__ void each(P* row, std::int64_t step, int steps, Run&& run) const {
    if (step == 1) each_by(row, std::integral_constant<int, 1>{}, steps, run);
    else if (step == -1) each_by(row, std::integral_constant<int, -1>{}, steps, run);
    else each_by(row, step, steps, run);
  }
  template <class P, class Step, class Run>
  __device__ __forceinline__ void each_by(P* row, Step step, int steps, Run& run) const {
    P* at = row + thread * step;
#pragma unroll
    for (int e = 0; e < R; ++e, at += threads * step)
      if (thread + e * threads < steps) run(e, at);
  }
  // Positions past a row's last step are 0.
  __device__ __forceinline__ void load(float (&x)[R], const T* row, std::int64_t step, int steps) const {
#pragma unroll
    for (float& value : x) value = 0;
    each(row, step, steps, [&](int e, const T* at) { x[e] = float(*at); });
  }
  // Transforms a row. Its greatest magnitude, or up to sixteen times that, is then magnitude(slot).
  __device__ __forceinline__ void transform(Complex (&z)[R], const float (&x)[R], int slot) const {
    note(x, slot);
    fft.forward(x, z);
  }
  __device__ __forceinline__ void note(const float (&x)[R], int slot) const {
    float sum = 0;
#pragma unroll
    for (const float value : x) sum += fabsf(value);
    const simt::tile<32> warp;
    const unsigned bits = warp.reduce(__builtin_bit_cast(unsigned, sum) & 0x7fffffffu,
                                      [](unsigned one, unsigned two) { return ::max(one, two); });
    if (warp.rank() == 0) greatest[slot * warps + warp.index()] = bits;
  }
  __device__ __forceinline__ Magnitudes magnitude(int slot) const {
    Magnitudes m;
#pragma unroll
    for (int w = 0; w < warps; ++w) m.greatest = ::max(m.greatest, greatest[slot * warps + w]);
    return m;
  }
};

// One block per channel and `rows` rows of the batch.                      s: the convolution, or k's gradient
// Preconditions: gridDim.x is ring_grid(), rows ring_rows(); ring_smem_bytes(); p and q have elements; p's size is y's,
// and at most N.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    dwconv_ring(Sum<T> s, int rows) {
  using Rows = RingRows<Policy, T>;
  constexpr int R = Rows::R, N = Rows::N, threads = Rows::threads;
  const Rows block;
  const unsigned channels = static_cast<unsigned>(s.channels);
  const std::int64_t c = blockIdx.x % channels, b0 = std::int64_t{blockIdx.x / channels} * rows;
  const int size = static_cast<int>(s.p.size), lags = static_cast<int>(::min(s.q.size, s.p.size));
  const int count = static_cast<int>(::min(s.batch - b0, std::int64_t{rows}));

  constexpr int of_filter = 0, of_row = 1;
  float x[R], inverse = 1;
  bool filter_in_range = true;
  block.load(x, &s.q.at(0, c, s.shift), -s.q.step, lags);
#pragma unroll 1
  for (int row = -1; row < count; ++row) {  // -1: the filter
    Complex z[R];
    block.transform(z, x, row < 0 ? of_filter : of_row);
    bool in_range = true;
    if (row < 0) {
      const Magnitudes m = block.magnitude(of_filter);
      filter_in_range = within(m, -ring_filter_exponent, ring_filter_exponent);
      const int exponent = m.greatest > 0 && filter_in_range ? m.exponent() : 0;
      const float by = power_of_two(-exponent) / N;
      inverse = power_of_two(exponent);
#pragma unroll
      for (int e = 0; e < R; ++e) block.other[e * threads] = {z[e].re * by, z[e].im * by};
      __syncthreads();  // a forward transform follows without an inverse between
    } else {
      in_range = filter_in_range && within(block.magnitude(of_row), -ring_row_exponent, ring_row_exponent);
#pragma unroll
      for (int e = 0; e < R; ++e) z[e] = z[e] * block.other[e * threads];
    }
    if (row + 1 < count) block.load(x, &s.p.at(b0 + row + 1, c, 0), s.p.step, size);
    if (row < 0) continue;

    block.fft.inverse(z);
    T* const to = &s.y.at(b0 + row, c, 0);
    if (in_range) {
      block.each(to, s.y.step, size, [&](int e, T* at) { *at = T(fmaf(z[e].re, inverse, s.eps)); });
    } else {
      for (int o = block.thread; o < size; o += threads) to[o * s.y.step] = T(s.eps + s.direct(b0 + row, c, o));
    }
  }
}

// One block per channel.                                                   s: w's gradient, [channels, size]
// The sum of p[x] q[x - o] is coefficient size - 1 - o of the product of reversed p and q.
// Preconditions: gridDim.x is the channels; ring_smem_bytes(); p and q have equal sizes, at most N; shift is 0.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm) dwconv_ring_sum(Sum<T> s) {
  using Rows = RingRows<Policy, T>;
  constexpr int R = Rows::R, N = Rows::N, threads = Rows::threads;
  const Rows block;
  const std::int64_t c = blockIdx.x;
  const int size = static_cast<int>(s.p.size);
  // Rows of q and p, alternating.
  const auto row = [&](std::int64_t i) { return i % 2 ? &s.p.at(i / 2, c, size - 1) : &s.q.at(i / 2, c, 0); };
  const auto step = [&](std::int64_t i) { return i % 2 ? -s.p.step : s.q.step; };
  const auto in_range = [&] {
    return within(block.magnitude(0), least_summed_exponent, most_summed_exponent) &&
           within(block.magnitude(1), least_summed_exponent, most_summed_exponent);
  };

  Complex products[R];
#pragma unroll
  for (Complex& z : products) z = {0, 0};
  bool all_in_range = true;
  float x[R];
  block.load(x, row(0), step(0), size);
#pragma unroll 1
  for (std::int64_t i = 0; i < 2 * s.batch; ++i) {
    const int of_p = static_cast<int>(i % 2);
    Complex z[R];
    block.transform(z, x, of_p);
    if (i + 1 < 2 * s.batch) block.load(x, row(i + 1), step(i + 1), size);
    if (!of_p) {
#pragma unroll
      for (int e = 0; e < R; ++e) block.other[e * threads] = z[e];
    } else if (in_range()) {
#pragma unroll
      for (int e = 0; e < R; ++e) {
        const Complex q = block.other[e * threads];
        products[e].re = fmaf(z[e].re, q.re, fmaf(-z[e].im, q.im, products[e].re));
        products[e].im = fmaf(z[e].re, q.im, fmaf(z[e].im, q.re, products[e].im));
      }
    } else {
      all_in_range = false;
    }
    __syncthreads();  // all threads have read the exchanged values and the magnitudes
  }

  block.fft.inverse(products);
  Complex* const sums = block.other;  // their real parts, each thread's own
#pragma unroll
  for (int e = 0; e < R; ++e) sums[e * threads] = {products[e].re * (1.0f / N), 0};
  for (std::int64_t b = 0; !all_in_range && b < s.batch; ++b) {
    for (int of_p = 0; of_p < 2; ++of_p) {
      float again[R];
      block.load(again, row(2 * b + of_p), step(2 * b + of_p), size);
      block.note(again, of_p);
    }
    __syncthreads();
    const bool served = in_range();
    __syncthreads();
    for (int i = 0; !served && i + block.thread < size; i += threads)
      sums[i].re += s.direct(b, c, size - 1 - i - block.thread);
  }
  const int outputs = static_cast<int>(s.y.size);
  for (int i = 0; i + block.thread < size; i += threads)
    if (size - 1 - i - block.thread < outputs) s.y.at(0, c, size - 1 - i - block.thread) = T(s.eps + sums[i].re);
  for (int o = size + block.thread; o < outputs; o += threads) s.y.at(0, c, o) = T(s.eps);
}

namespace ring {

template <int I, class T, bool Summed> static Status launch(const Arguments& args, const Sum<T>& sum) {
  constexpr Config c = Policy<I>::config;
  const DwconvProblem& p = args.plan.problem;
  const int sms = args.plan.device.sms;
  const std::int64_t grid = Summed ? p.channels : ring_grid(c, p, sms);
  const simt::Config at = launch_config(args, c.threads, grid, ring_smem_bytes(c));
  if constexpr (Summed) return simt::launch(at, dwconv_ring_sum<Policy<I>, T>, sum);
  else return simt::launch(at, dwconv_ring<Policy<I>, T>, sum, ring_rows(c, p, sms));
}

}  // namespace ring
}  // namespace ridge::dwconv_detail
