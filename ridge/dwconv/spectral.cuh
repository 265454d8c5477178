// The same sum by Fourier transforms: tiles of p, and the window of q that a tile of outputs meets,
// multiplied in the frequency domain.
//
// A block has a tile of outputs. For each tile of p's steps it transforms the tile and the window of q between the two,
// and accumulates the products; one inverse transform gives the outputs. Rows of the batch go in pairs, as the real and
// the imaginary part of one signal. With a real filter the outputs stay separate in the same way. Where pairs meet
// pairs, as in w's gradient, the real part is the sum over both.
//
// Errors are those of a transform: relative to the norms of a row and of the filter,
// and not to each output's own terms.
#pragma once
#include <ridge/dwconv/fft.cuh>
#include <ridge/dwconv/launch.cuh>
#include <ridge/dwconv/magnitudes.cuh>
#include <ridge/dwconv/spectral.hpp>
#include <ridge/tile/block_reduce.cuh>

namespace ridge::dwconv_detail {

// The steps of a row that a block needs. No others are read, whatever they are.
struct Steps {
  int begin, end;
  __device__ __forceinline__ Steps(int first, int after, std::int64_t size)
      : begin(first > 0 ? first : 0), end(after < size ? after : static_cast<int>(size)) {}
};

// The greatest magnitude of a row. All threads of a block call it and get the result.
template <int Threads, class T>
__device__ __forceinline__ Magnitudes greatest_of(const Signal<const T>& of, std::int64_t b, std::int64_t c,
                                                  const Steps& steps) {
  Magnitudes mine;
  const T* row = &of.at(b, c, 0);
  for (int x = steps.begin + static_cast<int>(threadIdx.x); x < steps.end; x += Threads)
    mine.add(float(row[x * of.step]));
  const auto greater = [](unsigned one, unsigned two) { return ::max(one, two); };
  mine.greatest = tile::block_reduce<32>(mine.greatest, greater, Threads);
  return mine;
}

// The scale of a row before its transform, and whether its magnitudes are in the transform's range.
struct RowScale {
  float by = 1, inverse = 1;
  bool in_range = true;
  // Brings the greatest magnitude to [1, 2).
  static __device__ __forceinline__ RowScale normal(const Magnitudes& m) {
    if (m.greatest == 0) return {};
    const int e = m.exponent();
    if (e < -spectral_exponent || e > spectral_exponent) return {0, 1, false};
    return {power_of_two(-e), power_of_two(e), true};
  }
  // Sums over the batch have no scale: in range are magnitudes whose products do not leave float32's range.
  static __device__ __forceinline__ RowScale summed(const Magnitudes& p, const Magnitudes& q) {
    const auto serves = [](const Magnitudes& m) {
      return m.greatest == 0 || (m.exponent() >= least_summed_exponent && m.exponent() <= most_summed_exponent);
    };
    const bool in_range = serves(p) && serves(q);
    return {1, 1, in_range};
  }
};

// Loads two rows as one signal: rows b and, if `second`, b + 1, from step x on, to positions [0, count). Later
// positions are 0, or if Around the steps before x. A row that is not in range is loaded as 0.
template <int N, bool Around, class T>
__device__ __forceinline__ void load_pair(Complex (&z)[fft_radix], const Signal<const T>& of, std::int64_t b,
                                          std::int64_t c, int x, int count, const Steps& steps,
                                          const RowScale (&scale)[2], bool second) {
  const T *first_row = &of.at(b, c, 0), *second_row = &of.at(b + (second ? 1 : 0), c, 0);
  const bool takes_first = scale[0].in_range, takes_second = second && scale[1].in_range;
#pragma unroll
  for (int e = 0; e < fft_radix; ++e) {
    const int position = static_cast<int>(threadIdx.x) + e * fft_threads(N);
    const int at = x + (position < count ? position : position - N);
    const bool inside = at >= steps.begin && at < steps.end && (Around || position < count);
    z[e].re = inside && takes_first ? float(first_row[at * of.step]) * scale[0].by : 0.0f;
    z[e].im = inside && takes_second ? float(second_row[at * of.step]) * scale[1].by : 0.0f;
  }
}

// A block per channel, group of pairs and tile of outputs.    y: [batch, channels, size], or [channels, size] if Summed
// Preconditions: gridDim.x is spectral_grid(); spectral_smem_bytes(); p and q have elements; sizes below 2^30; tiles is
// spectral_tiles().
template <class Policy, class T, bool Summed>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    dwconv_spectral(Sum<T> s, SpectralTiles tiles) {
  constexpr Config config = Policy::config;
  constexpr int N = config.points, threads = config.threads;
  Complex* shared = simt::dynamic_shared<Complex>();         // for the transform
  Complex* other = shared + fft_words(N) + fft_twiddles(N);  // [16][threads]: q's transform, each thread's own
  const int thread = static_cast<int>(threadIdx.x);
  const BlockFft<N> fft(shared);

  // The largest tiles come first: the last tiles of outputs, the first tiles of lags.
  const unsigned groups = static_cast<unsigned>(tiles.groups), channels = static_cast<unsigned>(s.channels);
  const unsigned tile_index = blockIdx.x / groups / channels, tile_count = gridDim.x / groups / channels;
  const std::int64_t group = blockIdx.x % groups, c = blockIdx.x / groups % channels;
  const int o0 = static_cast<int>(Summed ? tile_index : tile_count - 1 - tile_index) * tiles.outputs;
  const int last = static_cast<int>(o0 + tiles.outputs < s.y.size ? o0 + tiles.outputs : s.y.size) - 1;
  // A tile of p that is as long as the transform begins at the first step that the first output can meet.
  const int x_first = tiles.steps == N ? o0 - (tiles.lags - 1) : static_cast<int>(s.first(o0));
  const int x_end = static_cast<int>(s.end(last)), shift = static_cast<int>(s.shift);
  const bool one_tile = x_end - x_first <= tiles.steps;
  const Steps of_p(x_first, x_end, s.p.size), of_q(of_p.begin - last + shift, x_end - o0 + shift, s.q.size);

  // ---- magnitudes of rows ----
  RowScale filter;
  if constexpr (!Summed) filter = RowScale::normal(greatest_of<threads>(s.q, 0, c, of_q));
  const auto measure = [&](std::int64_t b, RowScale(&scale)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      scale[r] = {1, 1, true};  // for a row past the last
      if (b + r >= s.batch) continue;
      const Magnitudes p = greatest_of<threads>(s.p, b + r, c, of_p);
      if constexpr (Summed) scale[r] = RowScale::summed(p, greatest_of<threads>(s.q, b + r, c, of_q));
      else scale[r] = RowScale::normal(p);
      scale[r].in_range = scale[r].in_range && filter.in_range;
    }
  };

  Complex products[fft_radix];
  const auto clear = [&] {
#pragma unroll
    for (Complex& z : products) z = {0, 0};
  };
  // Adds the products of rows b and b + 1.
  const auto add = [&](std::int64_t b, const RowScale(&scale)[2], bool with_filter) {
    const bool second = b + 1 < s.batch;
    for (int x0 = x_first; x0 < x_end; x0 += tiles.steps) {
      Complex z[fft_radix];
      if (with_filter) {
        // The steps of q that output o0 meets from x0 on, and after them those that later outputs meet.
        const int first = x0 - o0 + shift;
        if constexpr (Summed) load_pair<N, true>(z, s.q, b, c, first, tiles.steps, of_q, scale, second);
        else load_pair<N, true>(z, s.q, 0, c, first, tiles.steps, of_q, {filter, {}}, false);
        fft.forward(z);
#pragma unroll
        for (int e = 0; e < fft_radix; ++e) other[e * threads + thread] = {z[e].re * (1.0f / N), -z[e].im * (1.0f / N)};
      }
      load_pair<N, false>(z, s.p, b, c, x0, tiles.steps, of_p, scale, second);
      fft.forward(z);
#pragma unroll
      for (int e = 0; e < fft_radix; ++e) products[e] = products[e] + z[e] * other[e * threads + thread];
    }
  };

  if constexpr (Summed) {
    clear();
    bool all_in_range = true;
    RowScale scale[2];
    for (std::int64_t b = 0; b < s.batch; b += 2) {
      measure(b, scale);
      all_in_range = all_in_range && scale[0].in_range && scale[1].in_range;
      add(b, scale, true);
    }
    fft.inverse(products);
#pragma unroll
    for (int e = 0; e < fft_radix; ++e) other[e * threads + thread] = products[e];
    // A thread's outputs have the stride `threads`, and are in this order among its own numbers.
    for (std::int64_t b = 0; !all_in_range && b < s.batch; b += 2) {
      measure(b, scale);
#pragma unroll
      for (int r = 0; r < 2; ++r)
        for (int i = thread; !scale[r].in_range && o0 + i <= last; i += threads)
          other[i].re += s.direct(b + r, c, o0 + i);
    }
    for (int i = thread; o0 + i <= last; i += threads) s.y.at(0, c, o0 + i) = T(s.eps + other[i].re);
  } else {
    const std::int64_t b0 = 2 * group * tiles.pairs, end = b0 + 2 * tiles.pairs;
    for (std::int64_t b = b0; b < end && b < s.batch; b += 2) {
      RowScale scale[2];
      measure(b, scale);
      clear();
      add(b, scale, b == b0 || !one_tile);
      fft.inverse(products);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        if (b + r >= s.batch) break;
        T* row = &s.y.at(b + r, c, o0);
        if (scale[r].in_range) {
#pragma unroll
          for (int e = 0; e < fft_radix; ++e) {
            const int i = thread + e * threads;
            const float sum = (r == 0 ? products[e].re : products[e].im) * scale[r].inverse * filter.inverse;
            if (o0 + i <= last) row[i * s.y.step] = T(s.eps + sum);
          }
        } else {
          for (int i = thread; o0 + i <= last; i += threads) row[i * s.y.step] = T(s.eps + s.direct(b + r, c, o0 + i));
        }
      }
    }
  }
}

namespace spectral {

template <int I, class T, bool Summed> static Status launch(const Arguments& args, const Sum<T>& sum) {
  constexpr Config c = Policy<I>::config;
  const DwconvProblem& p = args.plan.problem;
  const std::int64_t grid = spectral_grid(c, p, sum.y.size, Summed);
  const simt::Config at = launch_config(args, c.threads, grid, spectral_smem_bytes(c));
  return simt::launch(at, dwconv_spectral<Policy<I>, T, Summed>, sum, spectral_tiles(c, p, Summed));
}

}  // namespace spectral
}  // namespace ridge::dwconv_detail
