// The same sum by Fourier transforms: tiles of p, and the places of q that a tile of outputs meets,
// multiplied by frequency.
//
// A block's outputs are a tile. For each tile of p's steps it transforms p's and the window of q that the two are
// apart, and adds up the products; one transform back gives the outputs. Rows of the batch go in pairs, as the real and
// the imaginary part of one signal. Where a filter meets them, so do the outputs. Where pairs meet pairs, as in w's
// gradient, the real part is the sum over both.
//
// Errors are those of a transform: relative to the norms of a row and of the filter,
// and not to each output's own terms.
#pragma once
#include <ridge/dwconv/fft.cuh>
#include <ridge/dwconv/magnitudes.cuh>
#include <ridge/dwconv/sum.cuh>
#include <ridge/tile/block_reduce.cuh>

namespace ridge::dwconv_detail {

// Steps of a row that a block has to do with. All others are not looked at, whatever they are.
struct Steps {
  int begin, end;
  __device__ __forceinline__ Steps(int first, int after, std::int64_t size)
      : begin(first > 0 ? first : 0), end(after < size ? after : static_cast<int>(size)) {}
};

// The greatest magnitude of a row. All of a block's threads call and get it.
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

// What rows are multiplied by before they are transformed, and whether that serves them.
struct RowScale {
  float by = 1, inverse = 1;
  bool tame = true;
  // Brings the greatest magnitude to [1, 2).
  static __device__ __forceinline__ RowScale normal(const Magnitudes& m) {
    if (m.greatest == 0) return {};
    const int e = m.exponent();
    if (e < -spectral_exponent || e > spectral_exponent) return {0, 1, false};
    return {power_of_two(-e), power_of_two(e), true};
  }
  // Sums over the batch have one scale for all of it: none, where no product of such magnitudes leaves float32's range.
  static __device__ __forceinline__ RowScale summed(const Magnitudes& p, const Magnitudes& q) {
    const auto serves = [](const Magnitudes& m) {
      return m.greatest == 0 || (m.exponent() >= least_summed_exponent && m.exponent() <= most_summed_exponent);
    };
    const bool tame = serves(p) && serves(q);
    return {1, 1, tame};
  }
};

// Two rows as one: rows b and, if `second`, b + 1, from step x on, places from 0 to before `places`. Those after that
// are 0, or where Around the steps before x. A row that is not tame is 0.
template <int N, bool Around, class T>
__device__ __forceinline__ void load_pair(Complex (&z)[fft_radix], const Signal<const T>& of, std::int64_t b,
                                          std::int64_t c, int x, int places, const Steps& steps,
                                          const RowScale (&scale)[2], bool second) {
  const T *first_row = &of.at(b, c, 0), *second_row = &of.at(b + (second ? 1 : 0), c, 0);
  const bool takes_first = scale[0].tame, takes_second = second && scale[1].tame;
#pragma unroll
  for (int e = 0; e < fft_radix; ++e) {
    const int place = static_cast<int>(threadIdx.x) + e * fft_threads(N);
    const int at = x + (place < places ? place : place - N);
    const bool inside = at >= steps.begin && at < steps.end && (Around || place < places);
    z[e].re = inside && takes_first ? float(first_row[at * of.step]) * scale[0].by : 0.0f;
    z[e].im = inside && takes_second ? float(second_row[at * of.step]) * scale[1].by : 0.0f;
  }
}

// A block per channel, group of pairs and tile of outputs.    y: [batch, channels, size], or [channels, size] if Summed
// Preconditions: gridDim.x is spectral_grid(); spectral_smem_bytes(); p and q have elements; sizes below 2^30; tiles is
// spectral_tiles().
template <class Row, class T, bool Summed>
__global__ void __launch_bounds__(Row::config.threads, Row::config.blocks_per_sm)
    dwconv_spectral(Sum<T> s, SpectralTiles tiles) {
  constexpr Config config = Row::config;
  constexpr int N = config.points, threads = config.threads;
  Complex* shared = simt::dynamic_shared<Complex>();      // the transform's
  Complex* other = shared + fft_words(N) + fft_roots(N);  // [16][threads]: q's transform, each thread's own
  const int thread = static_cast<int>(threadIdx.x);
  const BlockFft<N> fft(shared);

  // Tiles with most to do come first: the last ones of outputs, the first ones of lags.
  const unsigned groups = static_cast<unsigned>(tiles.groups), channels = static_cast<unsigned>(s.channels);
  const unsigned turn = blockIdx.x / groups / channels, tile_count = gridDim.x / groups / channels;
  const std::int64_t group = blockIdx.x % groups, c = blockIdx.x / groups % channels;
  const int o0 = static_cast<int>(Summed ? turn : tile_count - 1 - turn) * tiles.outputs;
  const int last = static_cast<int>(o0 + tiles.outputs < s.y.size ? o0 + tiles.outputs : s.y.size) - 1;
  // Where a tile of p is as long as the transform, it begins with the first step that the first output could meet.
  const int x_first = tiles.steps == N ? o0 - (tiles.lags - 1) : static_cast<int>(s.first(o0));
  const int x_end = static_cast<int>(s.end(last)), shift = static_cast<int>(s.shift);
  const bool one_tile = x_end - x_first <= tiles.steps;
  const Steps of_p(x_first, x_end, s.p.size), of_q(of_p.begin - last + shift, x_end - o0 + shift, s.q.size);

  // ---- how large rows are ----
  RowScale filter;
  if constexpr (!Summed) filter = RowScale::normal(greatest_of<threads>(s.q, 0, c, of_q));
  const auto measure = [&](std::int64_t b, RowScale(&scale)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      scale[r] = {1, 1, true};  // of a row that is not there
      if (b + r >= s.batch) continue;
      const Magnitudes p = greatest_of<threads>(s.p, b + r, c, of_p);
      if constexpr (Summed) scale[r] = RowScale::summed(p, greatest_of<threads>(s.q, b + r, c, of_q));
      else scale[r] = RowScale::normal(p);
      scale[r].tame = scale[r].tame && filter.tame;
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
        // The places of q that output o0 meets at x0 and after, and behind them those that later outputs meet.
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
    bool all_tame = true;
    RowScale scale[2];
    for (std::int64_t b = 0; b < s.batch; b += 2) {
      measure(b, scale);
      all_tame = all_tame && scale[0].tame && scale[1].tame;
      add(b, scale, true);
    }
    fft.back(products);
#pragma unroll
    for (int e = 0; e < fft_radix; ++e) other[e * threads + thread] = products[e];
    // A thread's outputs are `threads` apart, and in that order among its own numbers.
    for (std::int64_t b = 0; !all_tame && b < s.batch; b += 2) {
      measure(b, scale);
#pragma unroll
      for (int r = 0; r < 2; ++r)
        for (int i = thread; !scale[r].tame && o0 + i <= last; i += threads) other[i].re += s.direct(b + r, c, o0 + i);
    }
    for (int i = thread; o0 + i <= last; i += threads) s.y.at(0, c, o0 + i) = T(s.eps + other[i].re);
  } else {
    const std::int64_t b0 = 2 * group * tiles.pairs, end = b0 + 2 * tiles.pairs;
    for (std::int64_t b = b0; b < end && b < s.batch; b += 2) {
      RowScale scale[2];
      measure(b, scale);
      clear();
      add(b, scale, b == b0 || !one_tile);
      fft.back(products);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        if (b + r >= s.batch) break;
        T* row = &s.y.at(b + r, c, o0);
        if (scale[r].tame) {
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

}  // namespace ridge::dwconv_detail
