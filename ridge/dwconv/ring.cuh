// The convolution and its gradients of rows that a transform holds whole: one transform of N values for N steps.
//
// A row, or the filter, is a polynomial modulo x^N - i (ring_fft.cuh), in the registers of a team of threads. A block
// transforms a channel's filter once, and then row after row of the batch. For w's gradient products are added up over the
// batch by frequency, and go back once.
//
// Errors are those of a transform: relative to the norms of a row and of the filter, and not to each output's own terms.
#pragma once
#include <ridge/dwconv/magnitudes.cuh>
#include <ridge/dwconv/ring_fft.cuh>
#include <ridge/dwconv/sum.cuh>

namespace ridge::dwconv_detail {

// Whether a transform serves a row of such magnitudes.
__device__ __forceinline__ bool within(const Magnitudes& m, int least, int most) {
  return m.greatest == 0 || (m.exponent() >= least && m.exponent() <= most);
}

// The threads of a row, and their part of shared memory.
template <class Row, class T, bool Summed> struct RingTeam {
  static constexpr Config c = Row::config;
  static constexpr int N = c.points, R = c.values, size = ring_team(c), count = ring_teams(c), warps = ring_team_warps(c);
  static_assert(count == 1 || size == 32);  // threads that meet are a block or a warp
  static_assert(sizeof(RingValue) == 2 * sizeof(float));

  int number, thread;  // of the team in its block, and within it
  RingValue* other;    // [R][size], each thread's own: what rows are multiplied by
  unsigned* greatest;  // [count][2][warps]
  RingFft<N, R> fft;

  static __device__ __forceinline__ RingValue* part(int team) {
    return simt::dynamic_shared<RingValue>() + count * ring_words(c) + (Summed ? team * N : 0);
  }
  __device__ __forceinline__ RingTeam()
      : number(static_cast<int>(threadIdx.x) / size),
        thread(static_cast<int>(threadIdx.x) % size),
        other(part(number) + thread),
        greatest(reinterpret_cast<unsigned*>(part(0) + (Summed ? count : 1) * N)),
        fft(thread, simt::dynamic_shared<RingValue>() + number * ring_words(c)) {}

  static __device__ __forceinline__ void meet() {
    if constexpr (count == 1) __syncthreads();
    else simt::tile<32>().sync();
  }

  // Does run(e, the address of step place(e)) for those of a thread's steps that there are; 1 and -1, which rows mostly have,
  // as constants.
  template <class P, class Run>
  __device__ __forceinline__ void each(P* row, std::int64_t step, int steps, Run&& run) const {
    const auto with = [&](auto distance) {
      P* const first = row + thread * distance;
#pragma unroll
      for (int e = 0; e < R; ++e)
        if (fft.place(e) < steps) run(e, first + e * size * distance);
    };
    if (step == 1) with(std::integral_constant<int, 1>{});
    else if (step == -1) with(std::integral_constant<int, -1>{});
    else with(step);
  }
  // A row's steps; places behind them are 0. Its greatest magnitude, or up to R times that, is that of `slot` once the
  // team has met.
  __device__ __forceinline__ void load(float (&x)[R], const T* row, std::int64_t step, int steps, int slot) const {
#pragma unroll
    for (float& value : x) value = 0;
    each(row, step, steps, [&](int e, const T* at) { x[e] = float(*at); });
    float sum = 0;
#pragma unroll
    for (const float value : x) sum += fabsf(value);
    const simt::tile<32> warp;
    const unsigned bits = warp.reduce(__builtin_bit_cast(unsigned, sum) & 0x7fffffffu,
                                      [](unsigned one, unsigned two) { return ::max(one, two); });
    if (warp.rank() == 0) greatest[(2 * number + slot) * warps + thread / 32] = bits;
  }
  __device__ __forceinline__ Magnitudes magnitude(int slot, int of_team) const {
    Magnitudes m;
#pragma unroll
    for (int w = 0; w < warps; ++w) m.greatest = ::max(m.greatest, greatest[(2 * of_team + slot) * warps + w]);
    return m;
  }
};

// A block per channel and ring_rows() of the batch.                       s: the convolution, or k's gradient
// Preconditions: gridDim.x is ring_grid(); ring_smem_bytes(); p and q have elements; p's size is y's, and at most N.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads, Row::config.blocks_per_sm) dwconv_ring(Sum<T> s) {
  using Team = RingTeam<Row, T, false>;
  constexpr int R = Team::R, N = Team::N;
  const Team team;
  const unsigned channels = static_cast<unsigned>(s.channels);
  const std::int64_t c = blockIdx.x % channels, b0 = std::int64_t{blockIdx.x / channels} * ring_rows(Team::c);
  const int size = static_cast<int>(s.p.size), lags = static_cast<int>(::min(s.q.size, s.p.size));

  constexpr int of_filter = 0, of_row = 1;  // slots
  float inverse = 1;
  bool filter_tame = true;
#pragma unroll 1
  for (int round = -1; round < ring_rounds; ++round) {  // the filter comes before the first row
    const bool is_filter = round < 0;
    const std::int64_t b = b0 + round * Team::count + team.number;
    float x[R];
    RingValue z[R];
    if (is_filter ? team.number == 0 : b < s.batch) {
      // ---- load ----
      const T* from = is_filter ? &s.q.at(0, c, s.shift) : &s.p.at(b, c, 0);
      team.load(x, from, is_filter ? -s.q.step : s.p.step, is_filter ? lags : size, is_filter ? of_filter : of_row);
      team.fft.forward(x, z);
    }
    if (is_filter) {
      const auto exponent = [&] {
        const Magnitudes m = team.magnitude(of_filter, 0);
        filter_tame = within(m, -ring_filter_exponent, ring_filter_exponent);
        return m.greatest > 0 && filter_tame ? m.exponent() : 0;
      };
      if (team.number == 0) {
        const float by = power_of_two(-exponent()) / N;
#pragma unroll
        for (int e = 0; e < R; ++e) team.other[e * Team::size] = {z[e].re * by, z[e].im * by};
      }
      __syncthreads();
      inverse = power_of_two(exponent());
      continue;
    }
    if (b >= s.batch) break;
    // ---- multiply ----
    const bool tame = filter_tame && within(team.magnitude(of_row, team.number), -ring_row_exponent, ring_row_exponent);
#pragma unroll
    for (int e = 0; e < R; ++e) z[e] = z[e] * team.other[e * Team::size];
    team.fft.back(z);
    // ---- finish ----
    T* const to = &s.y.at(b, c, 0);
    if (tame) {
      team.each(to, s.y.step, size, [&](int e, T* at) { *at = T(fmaf(z[e].re, inverse, s.eps)); });
    } else {
      for (int o = team.thread; o < size; o += Team::size) to[o * s.y.step] = T(s.eps + s.direct(b, c, o));
    }
  }
}

// A block per channel.                                                     s: w's gradient, [channels, size]
// The sum of p[x] q[x - o] is number size - 1 - o of the product of p, from its last step on, and q.
// Preconditions: gridDim.x is ring_grid(); ring_smem_bytes(); p and q have as many elements, at most N; shift is 0.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads, ring_sum_blocks(Row::config)) dwconv_ring_sum(Sum<T> s) {
  using Team = RingTeam<Row, T, true>;
  constexpr int R = Team::R, N = Team::N;
  const Team team;
  const std::int64_t c = blockIdx.x;
  const int size = static_cast<int>(s.p.size);
  const auto load = [&](float(&x)[R], std::int64_t b, int of_p) {
    team.load(x, of_p ? &s.p.at(b, c, size - 1) : &s.q.at(b, c, 0), of_p ? -s.p.step : s.q.step, size, of_p);
  };
  const auto tame = [&] {
    return within(team.magnitude(0, team.number), least_summed_exponent, most_summed_exponent) &&
           within(team.magnitude(1, team.number), least_summed_exponent, most_summed_exponent);
  };

  RingValue products[R];
#pragma unroll
  for (RingValue& z : products) z = {0, 0};
  bool all_tame = true;
#pragma unroll 1
  for (std::int64_t b = team.number; b < s.batch; b += Team::count) {
#pragma unroll 1
    for (int of_p = 0; of_p < 2; ++of_p) {
      float x[R];
      RingValue z[R];
      Team::meet();  // all have read what was exchanged, and the magnitudes
      load(x, b, of_p);
      team.fft.forward(x, z);
      if (!of_p) {
#pragma unroll
        for (int e = 0; e < R; ++e) team.other[e * Team::size] = z[e];
      } else if (tame()) {
#pragma unroll
        for (int e = 0; e < R; ++e) {
          const RingValue q = team.other[e * Team::size];
          products[e].re = fmaf(z[e].re, q.re, fmaf(-z[e].im, q.im, products[e].re));
          products[e].im = fmaf(z[e].re, q.im, fmaf(z[e].im, q.re, products[e].im));
        }
      } else {
        all_tame = false;
      }
    }
  }

  if constexpr (Team::count > 1) {  // one team after the other
#pragma unroll
    for (int e = 0; e < R; ++e) team.other[e * Team::size] = products[e];
    all_tame = !__syncthreads_or(!all_tame);
    if (team.number > 0) return;
#pragma unroll 1
    for (int of = 1; of < Team::count; ++of) {
      const RingValue* others = Team::part(of) + team.thread;
#pragma unroll
      for (int e = 0; e < R; ++e) {
        products[e].re += others[e * Team::size].re;
        products[e].im += others[e * Team::size].im;
      }
    }
  }
  team.fft.back(products);
  float* const sums = reinterpret_cast<float*>(team.other);  // every other one; each thread's own
#pragma unroll
  for (int e = 0; e < R; ++e) sums[2 * e * Team::size] = products[e].re * (1.0f / N);
  for (std::int64_t b = 0; !all_tame && b < s.batch; ++b) {
    float x[R];
    for (int of_p = 0; of_p < 2; ++of_p) load(x, b, of_p);
    Team::meet();
    const bool served = tame();
    Team::meet();
    for (int i = team.thread; !served && i < size; i += Team::size)
      sums[2 * (i - team.thread)] += s.direct(b, c, size - 1 - i);
  }
  const int outputs = static_cast<int>(s.y.size);
  for (int i = team.thread; i < size; i += Team::size)
    if (size - 1 - i < outputs) s.y.at(0, c, size - 1 - i) = T(s.eps + sums[2 * (i - team.thread)]);
  for (int o = size + team.thread; o < outputs; o += Team::size) s.y.at(0, c, o) = T(s.eps);
}

}  // namespace ridge::dwconv_detail
