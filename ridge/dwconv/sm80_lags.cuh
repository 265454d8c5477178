// w's gradient on tensor cores: dh(d) is the sum over rows and t of dy[t] k[t - d], the sums along the diagonals of
// dy^T k. Tiles of 32 steps of dy by 32 of k with the same distance between their first steps have the same diagonals,
// so they are summed over all of time, and over the batch, before any diagonal is.
#pragma once
#include <ridge/dwconv/launch.cuh>
#include <ridge/dwconv/sm80_lags.hpp>
#include <ridge/dwconv/sm80_split.cuh>
#include <ridge/tile/sm80/mma.cuh>

namespace ridge::dwconv_detail {

// The split of a channel's rows along time: batch x segments rows, each from its own first step on.
struct Segments {
  int count;
  int steps;  // whole chunks
  int lags;
};

template <class T> struct Lags {
  static constexpr int P = components(dtype_of<T>), warps = band_threads / 32;
  static constexpr int vector = band_rows * chunk / band_load_threads,
                       row_lanes = chunk / vector;  // 8 elements per thread
  static constexpr int M = band_tile / sum_rows, N = band_tile / sum_cols;
  using Component = ComponentOf<T>;
  static_assert(vector == 8 && row_lanes == 8);

  struct Shared {
    unsigned char* k;   // [band_ring][P][band_rows] lines; reused for the warps' products, [warps][32][band_pitch]
    unsigned char* dy;  // [2][P][band_rows] lines
    unsigned* range;    // [2][band_rows]: the greatest magnitudes of dy's and of k's rows
    int* fallback;      // [band_rows]: computed in float32
    float* sums;        // [lags]
    __device__ __forceinline__ Shared() {
      k = simt::dynamic_shared<unsigned char>();
      dy = k + band_ring * P * component_bytes;
      range = reinterpret_cast<unsigned*>(k + band_stage_bytes(dtype_of<T>));
      fallback = reinterpret_cast<int*>(range + 2 * band_rows);
      sums = reinterpret_cast<float*>(fallback + band_rows);
    }
    __device__ __forceinline__ unsigned char* k_at(int number) const {
      const int slot = number % band_ring;
      return k + (slot < 0 ? slot + band_ring : slot) * P * component_bytes;
    }
    __device__ __forceinline__ unsigned char* dy_at(int number) const {
      return dy + (number & 1) * P * component_bytes;
    }
    __device__ __forceinline__ float* products(int warp) const {
      return reinterpret_cast<float*>(k) + warp * band_tile * band_pitch;
    }
  };

  // A row of the batch, steps [first, end); null pointers past the last row.
  struct RowAt {
    const T *dy = nullptr, *k = nullptr;
    int first = 0, end = 0;
  };
  static __device__ __forceinline__ RowAt row_at(const Sum<T>& s, const Segments& segments, std::int64_t channel,
                                                 std::int64_t number) {
    const std::int64_t b = number / segments.count;
    const int first = static_cast<int>(number % segments.count) * segments.steps;
    if (b >= s.batch) return {};
    const int end = ::min(first + segments.steps, static_cast<int>(s.p.size));
    return {&s.p.at(b, channel, 0), &s.q.at(b, channel, 0), first, end};
  }

  static __device__ __forceinline__ void put(unsigned char* to, const Elements<T, vector>& elements, std::int64_t step,
                                             float by, int row, int first) {
    float x[vector];
    elements.to_floats(x, step);
    simt::vec<Component, vector> vectors[P];
#pragma unroll
    for (int i = 0; i < vector; ++i) {
      const Split<T> split(x[i], by);
#pragma unroll
      for (int p = 0; p < P; ++p) vectors[p][i] = split.component[p];
    }
#pragma unroll
    for (int p = 0; p < P; ++p)
      simt::store(reinterpret_cast<Component*>(
                      to + p * component_bytes +
                      tile::sm80::swizzled(tile::sm80::Reads::matrices, line_bytes, row, first * sizeof(Component))),
                  vectors[p]);
  }

  // Address from which a lane reads a fragment of 16 steps from `step` on, of the first 16 rows.
  static __device__ __forceinline__ unsigned fragment_at(const unsigned char* lines, int step) {
    const auto at = tile::sm80::matrix_row_at(tile::sm80::Axis::outer, threadIdx.x % 32);
    return tile::sm80::shared_address(lines) +
           tile::sm80::swizzled(tile::sm80::Reads::matrices, line_bytes, at.k, (step + at.outer) * sizeof(Component));
  }

  float sums[M][N][4], high[M][N][4], low[M][N][4];

  // Adds the products of dy's 32 steps from dy_step of a chunk on and k's from k_step on.
  __device__ __forceinline__ void add(const unsigned char* dy, int dy_step, const unsigned char* k, int k_step) {
#pragma unroll
    for (int rows = 0; rows < band_rows; rows += 16) {
      unsigned a[M][P][4];
#pragma unroll
      for (int m = 0; m < M; ++m)
#pragma unroll
        for (int p = 0; p < P; ++p)
          tile::sm80::load_matrices<true>(a[m][p],
                                          fragment_at(dy, dy_step + m * 16) + p * component_bytes + rows * line_bytes);
#pragma unroll
      for (int pair = 0; pair < N / 2; ++pair) {
        unsigned b[P][4];
#pragma unroll
        for (int p = 0; p < P; ++p)
          tile::sm80::load_matrices<true>(b[p],
                                          fragment_at(k, k_step + pair * 16) + p * component_bytes + rows * line_bytes);
#pragma unroll
        for (int m = 0; m < M; ++m)
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const int n = 2 * pair + half;
            tile::sm80::multiply<Component>(high[m][n], a[m][0], b[0], half);
            if constexpr (P == 2) {
              tile::sm80::multiply<Component>(low[m][n], a[m][0], b[1], half);
              tile::sm80::multiply<Component>(low[m][n], a[m][1], b[0], half);
            }
          }
      }
    }
  }
  // Tensor cores truncate their sums: sums leave them after every chunk, and are added up with rounding.
  __device__ __forceinline__ void collect() {
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          sums[m][n][i] += P == 2 ? high[m][n][i] + low[m][n][i] * (1 / low_scale) : high[m][n][i];
          high[m][n][i] = low[m][n][i] = 0;
        }
  }
};

// One block per channel.                                                            s: w's gradient
// Preconditions: cc 80 or later; gridDim.x is the number of channels; band_smem_bytes(); p has elements;
// sizes below 2^31.
template <class T>
__global__ void __launch_bounds__(band_threads)
    dwconv_lags(Sum<T> s, Segments segments, bool dy_aligned, bool k_aligned) {
  if constexpr (tile::sm80::available) {
    using K = Lags<T>;
    const typename K::Shared shared;
    const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
    const std::int64_t channel = blockIdx.x;
    const int row = thread / K::row_lanes, in_row = thread % K::row_lanes * K::vector;
    const bool loads = thread < band_load_threads;
    const int position = balanced_position(warp);
    for (int d = thread; d < segments.lags; d += band_threads) shared.sums[d] = 0;

    for (std::int64_t row0 = 0; row0 < s.batch * segments.count; row0 += band_rows) {
      // ---- magnitudes of rows: one scale for all of dy's, one for all of k's ----
      const auto at = loads ? K::row_at(s, segments, channel, row0 + row) : typename K::RowAt{};
      const auto magnitudes = [&](const T* from, std::int64_t step, int x, bool aligned) {
        constexpr int at_once = 4;  // loads in flight hide each other's latency
        Magnitudes m;
        for (; x < at.end; x += at_once * chunk) {
          Elements<T, K::vector> elements[at_once];
#pragma unroll
          for (int i = 0; i < at_once; ++i) elements[i].load(from, step, x + i * chunk, at.end, aligned);
#pragma unroll
          for (int i = 0; i < at_once; ++i) {
            float v[K::vector];
            elements[i].to_floats(v, step);
            for (float element : v) m.add(element);
          }
        }
        return m;
      };
      Magnitudes of_dy = magnitudes(at.dy, s.p.step, at.first + in_row, dy_aligned);
      Magnitudes of_k = magnitudes(at.k, s.q.step, in_row, k_aligned);
      const simt::tile<K::row_lanes> lanes;
      of_dy = of_dy.across(lanes);
      of_k = of_k.across(lanes);
      if (loads && lanes.rank() == 0) {
        shared.range[row] = of_dy.greatest;
        shared.range[band_rows + row] = of_k.greatest;
      }
      __syncthreads();
      Magnitudes all_dy, all_k;  // of rows that a scale could bring into range
      for (int r = 0; r < band_rows; ++r) {
        const Magnitudes a{shared.range[r], ~0u}, b{shared.range[band_rows + r], ~0u};
        if (!a.finite() || !b.finite()) continue;
        if (a.exponent() <= most_exponent) all_dy.greatest = ::max(all_dy.greatest, a.greatest);
        if (b.exponent() <= most_exponent) all_k.greatest = ::max(all_k.greatest, b.greatest);
      }
      const int dy_exponent = all_dy.exponent(), k_exponent = all_k.exponent();
      const bool serves = K::P == 1 ? of_dy.finite() && of_k.finite()
                                    : of_dy.greatest <= all_dy.greatest && of_k.greatest <= all_k.greatest &&
                                          in_range(of_dy, dy_exponent) && in_range(of_k, k_exponent);
      if (loads && lanes.rank() == 0) shared.fallback[row] = at.dy && !serves;
      const auto bounded = [](int e) { return ::min(::max(e, least_exponent), most_exponent); };
      const float by_dy = power_of_two(top_exponent - bounded(dy_exponent));
      const float by_k = power_of_two(top_exponent - bounded(k_exponent));
      const float inverse = K::P == 1 ? 1.0f
                                      : power_of_two(bounded(dy_exponent) - top_exponent) *
                                            power_of_two(bounded(k_exponent) - top_exponent);
      const int end = serves ? at.end : 0;  // rows that are not in range are zeros

      // ---- bands of lags ----
      for (int band = 0; band < segments.lags; band += band_lags) {
        const int tile_lag = band + position * band_tile;  // lag of row 0 and column 0 of this warp's products
        // With one segment there is nothing before step 0, and no product begins there.
        const int first = segments.count == 1 ? band / chunk : 0, last = segments.steps / chunk;
        const int behind = band / chunk;  // chunks from k's newest chunk to dy's
        Elements<T, K::vector> dy, k;
        const auto load = [&](int number) {
          const int x = at.first + number * chunk + in_row, u = x - band;
          dy.load(at.dy, s.p.step, x, end, dy_aligned);
          k.load(at.k, s.q.step, u, end, k_aligned);
        };
        const auto put = [&](int number) {
          if (!loads) return;
          K::put(shared.dy_at(number), dy, s.p.step, by_dy, row, in_row);
          K::put(shared.k_at(number - behind), k, s.q.step, by_k, row, in_row);
        };
        for (int older = first - band_window + 1; older < first; ++older) {
          if (!loads || (segments.count == 1 && older < behind)) continue;
          k.load(at.k, s.q.step, at.first + (older - behind) * chunk + in_row, end, k_aligned);
          K::put(shared.k_at(older - behind), k, s.q.step, by_k, row, in_row);
        }
        if (first < last) {
          load(first);
          put(first);
        }
        __syncthreads();
        K products;
#pragma unroll
        for (int m = 0; m < K::M; ++m)
#pragma unroll
          for (int n = 0; n < K::N; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) products.sums[m][n][i] = products.high[m][n][i] = products.low[m][n][i] = 0;
        for (int number = first; number < last; ++number) {
          const bool more = number + 1 < last;
          if (more) load(number + 1);
          for (int half = 0; half < chunk; half += band_tile) {
            const int u = number * chunk + half - tile_lag;
            if (tile_lag - band_tile >= segments.lags || (segments.count == 1 && u < 0)) continue;
            products.add(shared.dy_at(number), half, shared.k_at(u >> 6), u & (chunk - 1));
          }
          products.collect();
          if (more) put(number + 1);
          __syncthreads();
        }

        // ---- diagonals: each by one thread, in a fixed order ----
#pragma unroll
        for (int m = 0; m < K::M; ++m)
#pragma unroll
          for (int n = 0; n < K::N; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              const auto in = tile::sm80::sum_at(lane, i);
              shared.products(position)[(m * sum_rows + in.row) * band_pitch + n * sum_cols + in.col] =
                  products.sums[m][n][i];
            }
        __syncthreads();
        for (int z = thread; z < band_lags + band_tile; z += band_threads) {
          const int d = band - band_tile + z;
          if (d < 0 || d >= segments.lags) continue;
          const int below = z / band_tile,
                    off = z % band_tile;  // d is below the diagonal of one tile, and above that of the other
          float sum = 0;
          if (below > 0)
            for (int i = off; i < band_tile; ++i) sum += shared.products(below - 1)[i * band_pitch + i - off];
          if (below < K::warps && off > 0)
            for (int i = 0; i < off; ++i) sum += shared.products(below)[i * band_pitch + i + band_tile - off];
          shared.sums[d] += sum * inverse;
        }
        __syncthreads();
      }

      for (int r = 0; r < band_rows; ++r) {
        if (!shared.fallback[r]) continue;
        const auto of = K::row_at(s, segments, channel, row0 + r);
        for (std::int64_t d = thread; d < segments.lags; d += band_threads) {
          float sum = 0;
          for (std::int64_t x = d > of.first ? d : of.first; x < of.end; ++x)
            sum += float(of.dy[x * s.p.step]) * float(of.k[(x - d) * s.q.step]);
          shared.sums[d] += sum;
        }
      }
      __syncthreads();
    }
    for (std::int64_t d = thread; d < s.y.size; d += band_threads)
      s.y.at(0, channel, d) = T(d < segments.lags ? shared.sums[d] : 0.0f);
  }
}

template <class T> static Status launch_lags(const Arguments& args, const Sum<T>& sum) {
  const DwconvProblem& p = args.plan.problem;
  const simt::Config at{.grid = dim3(static_cast<unsigned>(p.channels)),
                        .block = dim3(band_threads),
                        .smem = static_cast<std::size_t>(band_smem_bytes(p)),
                        .stream = args.stream.handle};
  const Segments cut{static_cast<int>(segments(p)), static_cast<int>(segment_steps(p)), static_cast<int>(lags(p))};
  return simt::launch(at, dwconv_lags<T>, sum, cut, is_vector_aligned(sum.p, p.alignment),
                      is_vector_aligned(sum.q, p.alignment));
}

}  // namespace ridge::dwconv_detail
