// The convolution and k's gradient on tensor cores: y^T [time, batch] = W k^T, W[t, u] = h(t - u), h(d) = w[L-1-d].
//
// A fragment of W depends on t - u alone, so fragments along a diagonal are the same: a warp with 16 M outputs needs
// M + 3 of them for a chunk of 64 steps, and one more for every 16 steps. Shared memory has them ready, by lag: entry d
// is the four registers of a lane whose first element is h(d): the pairs h(e), h(e - 1) for e = d, d + 8, d - 8, d.
#pragma once
#include <ridge/dwconv/launch.cuh>
#include <ridge/dwconv/sm80_lags.cuh>
#include <ridge/dwconv/sm80_split.cuh>
#include <ridge/dwconv/sm80_toeplitz.hpp>
#include <ridge/tile/sm80/mma.cuh>

namespace ridge::dwconv_detail {

// Clears accumulators.
template <int M, int N> __device__ __forceinline__ void clear(float (&sums)[M][N][4]) {
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[m][n][i] = 0;
}

template <class Policy, class T> struct Toeplitz {
  static constexpr Config c = Policy::config;
  static constexpr int threads = c.threads, warps = threads / 32, P = components(dtype_of<T>);
  static constexpr int M = c.row_tiles, N = c.batches, rows = tensor_batch(c), ring = lag_ring(c);
  static constexpr int group = N > 1 ? 2 : 1;  // groups of eight rows that are multiplied together
  static constexpr int load_threads = ::std::min(threads, max_load_threads);  // threads that load k
  static constexpr int vector = rows * chunk / load_threads,
                       row_lanes = chunk / vector;  // elements of a thread; lanes of a row
  using Component = ComponentOf<T>;
  static_assert(N % group == 0 && row_lanes <= 32 && vector <= 8 && threads >= chunk);

  struct Shared {
    unsigned char* k;  // [2][line_rows] lines of 64 elements: all rows' hi, then all rows' lo
    unsigned* lags;    // [P][ring][4]
    float* scales;     // [2][rows], factors of a chunk's sums
    int* fallback;     // [rows]: not in range, computed in float32
    unsigned* scratch;
    __device__ __forceinline__ Shared() {
      k = simt::dynamic_shared<unsigned char>();
      lags = reinterpret_cast<unsigned*>(k + 2 * line_rows(c, dtype_of<T>) * line_bytes);
      scales = reinterpret_cast<float*>(lags + P * ring * 4);
      fallback = reinterpret_cast<int*>(scales + 2 * rows);
      scratch = reinterpret_cast<unsigned*>(fallback + rows);
    }
    __device__ __forceinline__ unsigned char* chunk_at(int number) const {
      return k + number % 2 * line_rows(c, dtype_of<T>) * line_bytes;
    }
  };

  // ---- k: a chunk of `rows` rows; each thread has a few elements of one row ----
  static __device__ __forceinline__ int row() { return static_cast<int>(threadIdx.x) / row_lanes; }
  static __device__ __forceinline__ int first_of_row() { return static_cast<int>(threadIdx.x) % row_lanes * vector; }

  static __device__ __forceinline__ void put(const Shared& shared, int number, const Elements<T, vector>& elements,
                                             std::int64_t step, float w_inverse) {
    const simt::tile<row_lanes> lanes;
    float x[vector];
    elements.to_floats(x, step);
    Magnitudes magnitudes;
#pragma unroll
    for (float v : x) magnitudes.add(v);
    const Scale scale = scale_of<T>(magnitudes.across(lanes));
    if (lanes.rank() == 0) {
      shared.scales[number % 2 * rows + row()] = scale.inverse * w_inverse;
      if (!scale.in_range) shared.fallback[row()] = 1;
    }
    simt::vec<Component, vector> vectors[P];
#pragma unroll
    for (int i = 0; i < vector; ++i) {
      const Split<T> split(scale.in_range ? x[i] : 0.0f, scale.by);
#pragma unroll
      for (int p = 0; p < P; ++p) vectors[p][i] = split.component[p];
    }
    const unsigned byte = first_of_row() * sizeof(Component);
#pragma unroll
    for (int p = 0; p < P; ++p)
      simt::store(reinterpret_cast<Component*>(
                      shared.chunk_at(number) +
                      tile::sm80::swizzled(tile::sm80::Reads::matrices, line_bytes, p * rows + row(), byte)),
                  vectors[p]);
  }

  // ---- h ----
  static __device__ __forceinline__ T lag(const Sum<T>& s, std::int64_t channel, int d) {
    return d >= 0 && d < s.q.size ? s.q.at(0, channel, s.shift - d) : T(0.0f);
  }
  static __device__ __forceinline__ void put_lag(const Shared& shared, int d, T at, T before, float by) {
    const Split<T> first(float(at), by), second(float(before), by);
#pragma unroll
    for (int p = 0; p < P; ++p) {
      const unsigned pair = first.component[p].bits | static_cast<unsigned>(second.component[p].bits) << 16;
      const auto word = [&](int entry, int i) -> unsigned& {
        return shared.lags[4 * (p * ring + (entry & (ring - 1))) + i];
      };
      word(d, 0) = word(d, 3) = pair;
      word(d - 8, 1) = word(d + 8, 2) = pair;
    }
  }
  // The filter's scale, for lags below `end`. All threads get it.
  static __device__ __forceinline__ Scale filter_scale(const Shared& shared, const Sum<T>& s, std::int64_t channel,
                                                       int end) {
    Magnitudes mine;
    for (int d = static_cast<int>(threadIdx.x); d < end; d += threads) mine.add(float(lag(s, channel, d)));
    const simt::tile<32> warp;
    mine = mine.across(warp);
    if (warp.rank() == 0) {
      shared.scratch[2 * warp.index()] = mine.greatest;
      shared.scratch[2 * warp.index() + 1] = mine.least;
    }
    __syncthreads();
    Magnitudes all;
    for (int w = 0; w < warps; ++w) {
      all.greatest = ::max(all.greatest, shared.scratch[2 * w]);
      all.least = ::min(all.least, shared.scratch[2 * w + 1]);
    }
    return scale_of<T>(all);
  }

  // ---- a warp's outputs: 16 M steps of `rows` rows ----
  float sums[M][N][4];

  // Adds a chunk's products. from_lag: from the chunk's first step to this warp's first output.
  __device__ __forceinline__ void add(const Shared& shared, int number, int from_lag) {
    const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, q = lane % 4;
    const auto at = tile::sm80::matrix_row_at(tile::sm80::Axis::k, lane);
    const unsigned from =
        tile::sm80::shared_address(shared.chunk_at(number)) +
        tile::sm80::swizzled(tile::sm80::Reads::matrices, line_bytes, at.outer, at.k * sizeof(Component));
#pragma unroll
    for (int n0 = 0; n0 < N; n0 += group) {
      float high[M][group][4], low[M][group][4];
      clear(high);
      clear(low);
      unsigned w[M][P][4];  // fragments of the step
#pragma unroll
      for (int step = 0; step < chunk / 16; ++step) {
#pragma unroll
        for (int m = M - 1; m >= 0; --m) {
          if (step > 0 && m > 0) {  // along the diagonal
#pragma unroll
            for (int p = 0; p < P; ++p)
#pragma unroll
              for (int i = 0; i < 4; ++i) w[m][p][i] = w[m - 1][p][i];
          } else {
            const int entry = (from_lag + g - 2 * q + 16 * (m - step)) & (ring - 1);
#pragma unroll
            for (int p = 0; p < P; ++p) {
              const auto four = simt::load<4>(static_cast<const unsigned*>(shared.lags) + 4 * (p * ring + entry));
#pragma unroll
              for (int i = 0; i < 4; ++i) w[m][p][i] = four[i];
            }
          }
        }
        unsigned k[P][4];  // 16 rows of each component; if k has eight, both components in the first
        const unsigned address = from ^ step * 16 * sizeof(Component);
        tile::sm80::load_matrices<false>(k[0], address + n0 * sum_cols * line_bytes);
        if constexpr (P == 2 && N > 1)
          tile::sm80::load_matrices<false>(k[1], address + (rows + n0 * sum_cols) * line_bytes);
#pragma unroll
        for (int m = 0; m < M; ++m)
#pragma unroll
          for (int n = 0; n < group; ++n) {
            tile::sm80::multiply<Component>(high[m][n], w[m][0], k[0], n);
            if constexpr (P == 2) {
              if constexpr (N > 1) tile::sm80::multiply<Component>(low[m][n], w[m][0], k[1], n);
              else tile::sm80::multiply<Component>(low[m][n], w[m][0], k[0], 1);
              tile::sm80::multiply<Component>(low[m][n], w[m][1], k[0], n);
            }
          }
      }
      // Tensor cores truncate their sums: sums leave them after every chunk, and are added up with rounding.
#pragma unroll
      for (int n = 0; n < group; ++n) {
        simt::vec<float, 2> scale{1, 1};
        if constexpr (P == 2)
          scale =
              simt::load<2>(static_cast<const float*>(shared.scales) + number % 2 * rows + (n0 + n) * sum_cols + 2 * q);
#pragma unroll
        for (int m = 0; m < M; ++m)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            sums[m][n0 + n][i] +=
                (P == 2 ? high[m][n][i] + low[m][n][i] * (1 / low_scale) : high[m][n][i]) * scale[i % 2];
      }
    }
  }
};

// One block per channel, group of rows and strip of time.                  s: the convolution, or k's gradient
// Preconditions: cc 80 or later; gridDim.x is tensor_grid(); tensor_smem_bytes(); p and q have elements;
// sizes below 2^31.
// aligned: p's rows can be read in whole vectors.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    dwconv_toeplitz(Sum<T> s, bool aligned) {
  if constexpr (tile::sm80::available) {
    using K = Toeplitz<Policy, T>;
    const typename K::Shared shared;
    const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
    const unsigned strip_count = static_cast<unsigned>((s.y.size + strip(K::c) - 1) / strip(K::c));
    const unsigned groups = static_cast<unsigned>((s.batch + K::rows - 1) / K::rows);
    // Strips of a channel follow each other, the longest first: they read the same steps of k.
    const int taps = static_cast<int>(s.q.size),
              t0 = static_cast<int>(strip_count - 1 - blockIdx.x % strip_count) * strip(K::c);
    const std::int64_t b0 = std::int64_t{blockIdx.x / strip_count % groups} * K::rows;
    const std::int64_t channel = blockIdx.x / strip_count / groups;
    const int t_end = ::min(t0 + strip(K::c), static_cast<int>(s.y.size));

    const int u0 = ::max(t0 - taps + 1, 0) / chunk * chunk;
    const std::int64_t b = b0 + K::row();
    const bool loads = thread < K::load_threads;
    const T* row = loads && b < s.batch ? &s.p.at(b, channel, 0) : nullptr;
    const int steps = row ? static_cast<int>(s.p.size) : 0;
    Elements<T, K::vector> k;  // of the next chunk: in flight while this one is multiplied
    const auto load = [&](int number) {
      k.load(row, s.p.step, u0 + number * chunk + K::first_of_row(), steps, aligned);
    };
    load(0);
    if (thread < K::rows) shared.fallback[thread] = 0;
    const Scale filter = K::filter_scale(shared, s, channel, ::min(t_end, taps));
    const int chunks = filter.in_range ? (t_end - u0 + chunk - 1) / chunk : 0;
    K outputs;
    clear(outputs.sums);
    const int position = balanced_position(warp);
    const int mine = t0 + position * warp_outputs(K::c);
    if (chunks > 0) {
      if (loads) K::put(shared, 0, k, s.p.step, filter.inverse);
      for (int i = thread; i < strip(K::c) + chunk; i += K::threads) {
        const int d = t0 - u0 - chunk + 1 + i;
        K::put_lag(shared, d, K::lag(s, channel, d), K::lag(s, channel, d - 1), filter.by);
      }
    }
    __syncthreads();
    for (int number = 0; number < chunks; ++number) {
      const int u = u0 + number * chunk;
      const bool more = number + 1 < chunks;
      const int next_lag = t0 - u - 2 * chunk + 1 + thread;
      T lag_at(0.0f), lag_before(0.0f);
      if (more) {
        load(number + 1);
        if (thread < chunk) lag_at = K::lag(s, channel, next_lag), lag_before = K::lag(s, channel, next_lag - 1);
      }
      if (mine + warp_outputs(K::c) > u && mine - (u + chunk - 1) < taps) outputs.add(shared, number, mine - u);
      if (more) {
        if (loads) K::put(shared, number + 1, k, s.p.step, filter.inverse);
        if (thread < chunk) K::put_lag(shared, next_lag, lag_at, lag_before, filter.by);
      }
      __syncthreads();
    }

    const int lane = thread % 32;
#pragma unroll
    for (int m = 0; m < K::M; ++m)
#pragma unroll
      for (int n = 0; n < K::N; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const auto at = tile::sm80::sum_at(lane, i);
          const int o = mine + m * sum_rows + static_cast<int>(at.row);
          const int r = n * sum_cols + static_cast<int>(at.col);
          if (o < t_end && b0 + r < s.batch && filter.in_range && !shared.fallback[r])
            s.y.at(b0 + r, channel, o) = T(s.eps + outputs.sums[m][n][i]);
        }
    if (!__syncthreads_or(!filter.in_range || (thread < K::rows && shared.fallback[thread]))) return;
    for (int r = 0; r < K::rows && b0 + r < s.batch; ++r) {
      if (filter.in_range && !shared.fallback[r]) continue;
      for (std::int64_t o = t0 + thread; o < t_end; o += K::threads)
        s.y.at(b0 + r, channel, o) = T(s.eps + s.direct(b0 + r, channel, o));
    }
  }
}

namespace tensor {

template <int I, class T, bool Summed> static Status launch(const Arguments& args, const Sum<T>& sum) {
  if constexpr (Summed) {
    return launch_lags<T>(args, sum);
  } else {
    constexpr Config c = Policy<I>::config;
    const DwconvProblem& p = args.plan.problem;
    const simt::Config at{.grid = dim3(static_cast<unsigned>(tensor_grid(c, p))),
                          .block = dim3(c.threads),
                          .smem = static_cast<std::size_t>(tensor_smem_bytes(c, p.dtype)),
                          .stream = args.stream.handle};
    return simt::launch(at, dwconv_toeplitz<Policy<I>, T>, sum, is_vector_aligned(sum.p, p.alignment));
  }
}

}  // namespace tensor
}  // namespace ridge::dwconv_detail
