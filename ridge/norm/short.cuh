// Short vector-aligned rows: a lane has one vector of each of several rows at a time, so that gamma and beta are read
// once for all of them, and the rows' reductions do not wait for one another.
#pragma once
#include <ridge/norm/vector.cuh>

namespace ridge::norm_detail {

// A row's lanes as the rare case needs them (statistics.cuh).
template <class Team> struct LanesTogether {
  template <class V> struct Scratch {};
  template <class V, class F> static __device__ __forceinline__ V reduce(V value, F f, Scratch<V>&) {
    return simt::tiles<Team::lanes>().reduce(value, f);
  }
};

// Policy::config: a block has `rows` rows side by side, `rows_per_lane` times.
// Preconditions: rows of all tensors are vector-aligned and evenly spaced, with at most one vector for each lane; gamma
// and beta are contiguous; gridDim.x * rows * rows_per_lane covers rows. y and sum may be x or residual.
template <class Policy, class Team, class T, bool Added>
__global__ void __launch_bounds__(Policy::config.threads) norm_short(Forward<T> a) {
  using tile::Packed;
  constexpr Config c = Policy::config;
  constexpr int per_lane = c.rows_per_lane, V = tile::vector_elements<T>;
  static_assert(Team::lanes <= Team::warp, "a row is part of a warp");
  const simt::tiles<Team::lanes> together;
  const int at = Team::lane() * V;
  const std::int64_t first = std::int64_t{blockIdx.x} * c.rows * per_lane + Team::row_of_block();
  const bool has = at < a.cols;
  const auto exists = [&](int t) { return has && first + t * c.rows < a.rows; };

  // ---- load
  Packed vector[per_lane];
#pragma unroll
  for (int t = 0; t < per_lane; ++t)
    vector[t] = exists(t) ? tile::load_packed(a.x.strided_row(first + t * c.rows) + at) : Packed{};
  if constexpr (Added) {
    Packed other[per_lane];
#pragma unroll
    for (int t = 0; t < per_lane; ++t)
      other[t] = exists(t) ? tile::load_packed(a.residual.strided_row(first + t * c.rows) + at) : Packed{};
#pragma unroll
    for (int t = 0; t < per_lane; ++t) vector[t] = packed_sum<T>(vector[t], other[t]);
  }
  Affine<T> affine{tile::packed_fill<T>(1), tile::packed_fill<T>(0)};
  if (has && a.gamma.data) affine.gamma = tile::load_packed_anywhere(a.gamma.data + at);
  if (has && a.beta.data) affine.beta = tile::load_packed_anywhere(a.beta.data + at);

  const auto finish = [&](int t, const Statistics<float>& normalised) {
    if (!exists(t)) return;
    const std::int64_t row = first + t * c.rows;
    if constexpr (Added) tile::store_packed(a.sum.strided_row(row) + at, vector[t]);
    tile::store_packed(a.y.strided_row(row) + at, normalised_vector<T>(normalised, vector[t], affine));
  };

  // ---- compute: rows side by side, and distances from 0, which loses bits only if a row's mean is far from 0
  const float per_column = 1 / static_cast<float>(a.cols), per_element = a.rms ? 0.0f : per_column;
  Differences<float> s[per_lane];
  Spread<float> spread[per_lane];
  bool far = false;
#pragma unroll
  for (int t = 0; t < per_lane; ++t) {
    s[t] = {0, 0};
    for_elements<T>(vector[t], [&](float e, int) { s[t].add(e); });
  }
#pragma unroll
  for (int t = 0; t < per_lane; ++t) {
    s[t] = together.reduce(s[t], plus<Differences<float>>);
    spread[t] = Spread<float>::of(s[t], per_element);
    far = far || spread[t].far(s[t]) || !is_ordinary(spread[t].divisor(per_column, a.eps));
  }

  // ---- finish
  if (!simt::tiles<Team::warp>().any(far)) {  // the whole warp takes the same branch
#pragma unroll
    for (int t = 0; t < per_lane; ++t) finish(t, spread[t].statistics(0, per_column, a.eps));
    return;
  }
#pragma unroll
  for (int t = 0; t < per_lane; ++t) {
    const float of_first = together.shfl(tile::unpack_floats<T>(vector[t])[0], 0);
    const float base = is_finite(spread[t].mean) ? spread[t].mean : of_first, less = has ? base : 0.0f;
    Differences<float> of_base{0, 0};
    for_elements<T>(vector[t], [&](float e, int) { of_base.add(e - less); });
    of_base = together.reduce(of_base, plus<Differences<float>>);
    const Spread<float> again = Spread<float>::of(of_base, per_element);
    const float divisor = again.divisor(per_column, a.eps);
    if (!simt::tiles<Team::warp>().any(!is_ordinary(divisor))) {
      finish(t, again.statistics(base, per_column, a.eps));
      continue;
    }
    WideScratch<LanesTogether<Team>> none;
    const auto each = [&](auto&& f) { for_elements<T>(vector[t], [&](float e, int) { f(e, has); }); };
    finish(t, wide_statistics<LanesTogether<Team>, float>(
                  each, [] {}, static_cast<float>(a.cols), a.eps, a.rms, divisor, none));
  }
}

// Gradients in one pass: dx, and slices[b][0][j] = sum of dy n over the rows of block b, [b][1][j] = sum of dy. Blocks
// are persistent; each lane keeps the sums of its vector's columns.
//
// Policy::config: a block has `rows` rows side by side, `rows_per_lane` times before it goes on.
// Preconditions: as above, for dy, x, dsum and dx; any grid.
template <class Policy, class Team, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    norm_short_gradient(Backward<T> a, float* slices) {
  using tile::Packed;
  using Floats = tile::Floats<T>;
  using Sums = GradientSums<float>;
  constexpr Config c = Policy::config;
  constexpr int per_lane = c.rows_per_lane, V = tile::vector_elements<T>, most_cols = Team::lanes * V;
  static_assert(Team::lanes <= Team::warp, "a row is part of a warp");
  __shared__ float of_rows[c.rows][2][most_cols];
  const simt::tiles<Team::lanes> together;
  const int at = Team::lane() * V;
  const bool has = at < a.cols;
  Packed packed_gamma = tile::packed_fill<T>(1);
  if (has && a.gamma.data) packed_gamma = tile::load_packed_anywhere(a.gamma.data + at);
  const Floats gamma = tile::unpack_floats<T>(packed_gamma);
  const float per_column = 1 / static_cast<float>(a.cols);
  float sum_gamma[V] = {}, sum_beta[V] = {};

  constexpr int of_block = c.rows * per_lane;
#pragma unroll 1
  for (std::int64_t start = std::int64_t{blockIdx.x} * of_block; start < a.rows;
       start += std::int64_t{gridDim.x} * of_block) {
    const std::int64_t first = start + Team::row_of_block();
    const auto exists = [&](int t) { return has && first + t * c.rows < a.rows; };

    // ---- load
    Packed vector_x[per_lane], vector_dy[per_lane];
#pragma unroll
    for (int t = 0; t < per_lane; ++t) {
      vector_x[t] = exists(t) ? tile::load_packed(a.x.strided_row(first + t * c.rows) + at) : Packed{};
      vector_dy[t] = exists(t) ? tile::load_packed(a.dy.strided_row(first + t * c.rows) + at) : Packed{};
    }

#pragma unroll
    for (int t = 0; t < per_lane; ++t) {
      // ---- compute: distances from the row's first element
      const Floats x = tile::unpack_floats<T>(vector_x[t]), dy = tile::unpack_floats<T>(vector_dy[t]);
      const auto sums = [&](float base) {
        Sums s{0, 0, 0, 0};
        const float less = has ? base : 0.0f;
#pragma unroll
        for (int v = 0; v < V; ++v) s.add(x[v] - less, dy[v] * gamma[v]);
        return together.reduce(s, plus<Sums>);
      };
      float base = a.rms ? 0.0f : together.shfl(x[0], 0);
      Sums s = sums(base);
      if (simt::tiles<Team::warp>().any(!a.rms && far_from_base(s, per_column))) {  // one branch for the warp
        base += a.rms ? 0.0f : s.first * per_column;
        s = sums(base);
      }
      RowGradient<float> gradient = gradient_of_sums(s, base, per_column, a.eps, a.rms);
      const float divisor = multiply_add(s.squares, per_column, a.eps);
      if (simt::tiles<Team::warp>().any(!is_ordinary(divisor))) {
        using Lanes = LanesTogether<Team>;
        WideScratch<Lanes> none;
        typename Lanes::template Scratch<Sums> no_sums;
        const auto each = [&](auto&& f) {
#pragma unroll
          for (int v = 0; v < V; ++v) f(x[v], dy[v] * gamma[v], has);
        };
        gradient = wide_gradient<Lanes, float>(
            each, [] {}, static_cast<float>(a.cols), a.eps, a.rms, divisor, none, no_sums);
      }

      // ---- finish
      if (!exists(t)) continue;
      const std::int64_t row = first + t * c.rows;
      Floats dx{};
      if (a.dsum.data) dx = tile::unpack_floats<T>(tile::load_packed(a.dsum.strided_row(row) + at));
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const float n = gradient.normalised(x[v]);
        dx[v] += gradient(n, dy[v] * gamma[v]);
        sum_gamma[v] = fmaf(dy[v], n, sum_gamma[v]);
        sum_beta[v] += dy[v];
      }
      tile::store_packed(a.dx.strided_row(row) + at, tile::pack_floats<T>(dx));
    }
  }

  // ---- sum the block's rows, in order
#pragma unroll
  for (int v = 0; v < V; ++v) {
    of_rows[Team::row_of_block()][0][at + v] = sum_gamma[v];
    of_rows[Team::row_of_block()][1][at + v] = sum_beta[v];
  }
  __syncthreads();
  const int cols = static_cast<int>(a.cols);
  float* to = slices + std::int64_t{blockIdx.x} * 2 * cols;
  for (int i = static_cast<int>(threadIdx.x); i < 2 * cols; i += c.threads) {
    const int which = i / cols, column = i - which * cols;
    float sum = 0;
#pragma unroll
    for (int r = 0; r < c.rows; ++r) sum += of_rows[r][which][column];
    to[i] = sum;
  }
}

namespace short_rows {

template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  using Team = TeamOf<Policy, Warp>;
  const simt::Config at = launch_config(call, Warp);
  if (call.plan.problem.added) return simt::launch(at, norm_short<Policy, Team, T, true>, forward_of<T>(call));
  return simt::launch(at, norm_short<Policy, Team, T, false>, forward_of<T>(call));
}

template <class Policy, class T, int Warp> static Status launch_gradient(const Call& call) {
  return simt::launch(launch_config(call, Warp), norm_short_gradient<Policy, TeamOf<Policy, Warp>, T>,
                      backward_of<T>(call), slices_of_sums<T>(call));
}

}  // namespace short_rows
}  // namespace ridge::norm_detail
