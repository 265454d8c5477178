// Short vector-aligned rows: a lane has a few vectors of each of several rows at a time, so that gamma and beta are
// read once for all of them, the rows' reductions do not wait for one another, and the code is short: a launch of few
// rows lasts about as long as its code takes to be loaded.
#pragma once
#include <ridge/norm/aligned.cuh>
#include <ridge/norm/sums.cuh>

namespace ridge::norm_detail {

// A row's lanes, part of a warp, as reductions and the rare case need them (statistics.cuh).
template <class Team> struct LanesTogether {
  static constexpr int lanes = Team::lanes, warp = Team::warp;
  template <class V> struct Scratch {};
  static __device__ __forceinline__ int lane() { return Team::lane(); }
  template <class V, class F> static __device__ __forceinline__ V reduce(V value, F f, Scratch<V>&) {
    return simt::tiles<lanes>().reduce(value, f);
  }
};

// y of rows [rows, cols]; Added: of x + residual, which is written to sum.
// Scaled: y is x times a factor of the row and one of the column: rms_norm without beta.
// Policy::config: a block has `rows` rows side by side, `rows_per_lane` times; a lane in_registers vectors of each.
// Preconditions: rows of all tensors are vector-aligned and evenly spaced, and lanes() * in_registers vectors hold one;
// gamma and beta are contiguous; the grid covers rows. y and sum may be x or residual.
template <class Policy, class Team, class T, bool Added, bool Scaled>
__global__ void __launch_bounds__(Policy::config.threads) norm_short(AlignedForward<T> a) {
  using tile::Packed;
  constexpr Config c = Policy::config;
  constexpr int R = c.rows_per_lane, K = c.in_registers, V = tile::vector_elements<T>, step = Team::lanes * V;
  static_assert(Team::lanes <= Team::warp, "a row is part of a warp");
  using Sums = std::conditional_t<Scaled, Squares, Differences<float>>;
  using Lanes = LanesTogether<Team>;
  const simt::tiles<Team::lanes> together;
  const int cols = a.cols, at = Team::lane() * V;
  const std::int64_t first = std::int64_t{blockIdx.x} * c.rows * R + Team::row_of_block();
  const auto row_of = [&](int t) { return first + t * c.rows; };
  const auto has = [&](int k) { return at + k * step < cols; };
  if constexpr (c.dependent_launch) {  // prefetch gamma to the L2 cache while the kernel before ends
    tile::launch_dependents();
    // By one row for all: a line on its way that all rows ask for would be slower than one that none does.
    if (first == 0 && a.gamma) {
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (has(k)) tile::prefetch_line_l2(a.gamma + at + k * step);
    }
    tile::grid_dependency_wait();
  }

  // ---- load: zeros for vectors that a row does not have
  Packed vector[R][K];
#pragma unroll
  for (int t = 0; t < R; ++t) {
    const T* x = a.x.row(row_of(t)) + at;
#pragma unroll
    for (int k = 0; k < K; ++k)
      vector[t][k] = row_of(t) < a.rows && has(k) ? tile::load_packed(x + k * step) : Packed{};
  }
  const bool on_vectors = tile::on_vectors(a.gamma, 0) && (Scaled || tile::on_vectors(a.beta, 0));
  Affine<T> affine[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    affine[k] = {tile::packed_fill<T>(1), tile::packed_fill<T>(0)};
    if (on_vectors && a.gamma && has(k)) affine[k].gamma = tile::load_packed(a.gamma + at + k * step);
    if (!Scaled && on_vectors && a.beta && has(k)) affine[k].beta = tile::load_packed(a.beta + at + k * step);
  }
  if constexpr (Added) {
#pragma unroll
    for (int t = 0; t < R; ++t) {
      if (row_of(t) >= a.rows) continue;
      const T* residual = a.residual.row(row_of(t)) + at;
      T* sum = a.sum.row(row_of(t)) + at;
      Packed other[K];
#pragma unroll
      for (int k = 0; k < K; ++k) other[k] = has(k) ? tile::load_packed(residual + k * step) : Packed{};
#pragma unroll
      for (int k = 0; k < K; ++k)
        if (has(k)) tile::store_packed(sum + k * step, vector[t][k] = packed_sum<T>(vector[t][k], other[k]));
    }
  }

  // ---- compute: distances from 0, which lose bits only if a row's mean is far from 0
  const float per_column = 1 / static_cast<float>(cols);
  Sums s[R];
#pragma unroll
  for (int t = 0; t < R; ++t) {
    s[t] = {};
#pragma unroll
    for (int k = 0; k < K; ++k) for_elements<T>(vector[t][k], [&](float e, int) { s[t].add(e); });
  }
  Statistics<float> normalised[R];
  bool any_far = false;
#pragma unroll
  for (int t = 0; t < R; ++t) {
    s[t] = together.reduce(s[t], plus<Sums>);
    bool far;
    if constexpr (Scaled) {
      const float divisor = multiply_add(s[t].squares, per_column, a.eps);
      far = !is_ordinary(divisor);
      normalised[t] = {0, 0, reciprocal_root(divisor)};
    } else {
      const Spread<float> spread = Spread<float>::of(s[t], a.rms ? 0.0f : per_column);
      far = spread.far(s[t]) || !is_ordinary(spread.divisor(per_column, a.eps));
      normalised[t] = spread.statistics(0, per_column, a.eps);
    }
    any_far = any_far || (far && row_of(t) < a.rows);
  }

  // ---- finish
  if (simt::tiles<Team::warp>().any(any_far) || !on_vectors) {  // the whole warp takes the same branch
    simt::tiles<Team::warp>().sync();                           // a row's first element is another lane's
    typename Lanes::template Scratch<Differences<float>> none[2];
    WideScratch<Lanes> none_wide;
#pragma unroll 1
    for (std::int64_t row = first; row < first + c.rows * R; row += c.rows) {
      const bool exists = row < a.rows;
      const std::int64_t known = exists ? row : 0;
      const T* x = Added ? a.sum.row(known) : a.x.row(known);
      norm_aligned_rarely<Lanes, T>({x, a.y.row(known), a.gamma, a.beta, exists ? cols : 0, a.eps, a.rms}, {}, true,
                                    none, none_wide);
    }
    return;
  }
#pragma unroll
  for (int t = 0; t < R; ++t) {
    if (row_of(t) >= a.rows) break;
    T* y = a.y.row(row_of(t)) + at;
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (has(k))
        tile::store_packed(y + k * step, Scaled ? scaled_vector<T>(normalised[t].scale, vector[t][k], affine[k].gamma)
                                                : normalised_vector<T>(normalised[t], vector[t][k], affine[k]));
  }
}

// dx of rows [rows, cols], and the sums over rows, of dy n for dgamma and of dy for dbeta, where n is x normalised.
// Blocks are persistent; each lane keeps the sums of its vectors' columns. A row is loaded while the one before it is
// worked on (Config::ahead).
// Scaled: of rms_norm without beta.
//
// Policy::config: a block has `rows` rows side by side before it goes on; a lane in_registers vectors of each.
// Preconditions: as above, for dy, x, dsum and dx; any grid.
template <class Policy, class Team, class T, bool Scaled>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    norm_short_gradient(AlignedBackward<T> a, SumsOutput<T> to) {
  using tile::Packed;
  using Floats = tile::Floats<T>;
  using Sums = std::conditional_t<Scaled, RmsGradientSums, GradientSums<float>>;
  constexpr Config c = Policy::config;
  constexpr int K = c.in_registers, V = tile::vector_elements<T>, step = Team::lanes * V,
                warps = c.threads / Team::warp;
  static_assert(Team::lanes <= Team::warp && c.rows_per_lane == 1, "a row is part of a warp");
  __shared__ float of_warps[warps][K * step];
  const simt::tiles<Team::lanes> together;
  const simt::tiles<Team::warp> warp;
  const int cols = a.cols, at = Team::lane() * V;
  const bool rms = Scaled || a.rms;
  const auto has = [&](int k) { return at + k * step < cols; };
  Packed packed_gamma[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    packed_gamma[k] = tile::packed_fill<T>(1);
    if (has(k) && a.gamma) packed_gamma[k] = tile::load_packed_anywhere(a.gamma + at + k * step);
  }
  const float per_column = 1 / static_cast<float>(cols);
  float sum_gamma[K][V] = {};
  [[maybe_unused]] float sum_beta[K][V] = {};

  // ---- load: zeros for vectors that the row does not have
  const auto load = [&](std::int64_t row, Packed(&x)[K], Packed(&dy)[K]) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      x[k] = row < a.rows && has(k) ? tile::load_packed(a.x.row(row) + at + k * step) : Packed{};
      dy[k] = row < a.rows && has(k) ? tile::load_packed(a.dy.row(row) + at + k * step) : Packed{};
    }
  };
  const std::int64_t rows_of_grid = std::int64_t{gridDim.x} * c.rows, first_row = std::int64_t{blockIdx.x} * c.rows;
  [[maybe_unused]] Packed next_x[K], next_dy[K];  // of the row after this one
  if constexpr (c.ahead) load(first_row + Team::row_of_block(), next_x, next_dy);

#pragma unroll 1
  for (std::int64_t start = first_row; start < a.rows; start += rows_of_grid) {
    const std::int64_t row = start + Team::row_of_block();
    const bool exists = row < a.rows;
    Packed vector_x[K], vector_dy[K];
    if constexpr (c.ahead) {
#pragma unroll
      for (int k = 0; k < K; ++k) vector_x[k] = next_x[k], vector_dy[k] = next_dy[k];
      load(row + rows_of_grid, next_x, next_dy);
    } else {
      load(row, vector_x, vector_dy);
    }
    // Calls f(k, x, dy, gamma) for each vector.
    const auto for_vectors = [&](auto&& f) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        // Opaque, or nvcc unpacks them once for all passes, into registers that it does not have.
        tile::make_opaque(vector_x[k]), tile::make_opaque(vector_dy[k]), tile::make_opaque(packed_gamma[k]);
        f(k, tile::unpack_floats<T>(vector_x[k]), tile::unpack_floats<T>(vector_dy[k]),
          tile::unpack_floats<T>(packed_gamma[k]));
      }
    };

    // ---- compute: distances from 0, and if the mean is far from 0, from it
    const auto sums = [&](float base) {
      Sums s{};
      for_vectors([&](int k, const Floats& x, const Floats& dy, const Floats& gamma) {
        const float less = !rms && has(k) ? base : 0.0f;
#pragma unroll
        for (int v = 0; v < V; ++v) s.add(x[v] - less, dy[v] * gamma[v]);
      });
      return together.reduce(s, plus<Sums>);
    };
    RowGradient<float> gradient;
    float divisor;
    if constexpr (Scaled) {
      const Sums s = sums(0);
      divisor = multiply_add(s.squares, per_column, a.eps);
      const float scale = reciprocal_root(divisor);
      gradient = {{0, 0, scale}, 0, s.gd * scale * per_column};
    } else {
      float base = 0;
      Sums s = sums(base);
      if (warp.any(!rms && far_from_base(s, per_column))) {  // one branch for the warp
        base = rms ? 0.0f : s.first * per_column;
        s = sums(base);
      }
      divisor = multiply_add(s.squares, per_column, a.eps);
      gradient = gradient_of_sums(s, base, per_column, a.eps, rms);
    }
    if (warp.any(exists && !is_ordinary(divisor))) {
      const std::int64_t known = exists ? row : 0;
      gradient =
          wide_gradient_alone<Team::lanes>(a.x.row(known), a.dy.row(known), a.gamma, exists ? a.cols : 0, a.eps, rms);
    }

    // ---- finish
    if (!exists) continue;
    for_vectors([&](int k, const Floats& x, const Floats& dy, const Floats& gamma) {
      if (!has(k)) return;
      Floats dx{};
      if (a.dsum.data) dx = tile::unpack_floats<T>(tile::load_packed(a.dsum.row(row) + at + k * step));
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const float n = Scaled ? x[v] * gradient.normalised.scale : gradient.normalised(x[v]);
        dx[v] += gradient(n, dy[v] * gamma[v]);
        sum_gamma[k][v] = fmaf(dy[v], n, sum_gamma[k][v]);
        if constexpr (!Scaled) sum_beta[k][v] += dy[v];
      }
      tile::store_packed(a.dx.row(row) + at + k * step, tile::pack_floats<T>(dx));
    });
  }
  if (!to.wanted()) return;

  // ---- sum the block's rows, in order: those of a warp by exchanges, then the warps'
  tile::launch_dependents();
  const auto put = [&](int which, float(&sum)[K][V]) {
#pragma unroll
    for (int k = 0; k < K; ++k)
#pragma unroll
      for (int v = 0; v < V; ++v) {
        float all = sum[k][v];
#pragma unroll
        for (int apart = Team::lanes; apart < Team::warp; apart *= 2) all += warp.shfl_xor(all, apart);
        if (warp.rank() < Team::lanes) of_warps[warp.index()][k * step + at + v] = all;
      }
    __syncthreads();
#pragma unroll 1  // few threads have a second column
    for (int column = static_cast<int>(threadIdx.x); column < cols; column += c.threads) {
      float all = 0;
#pragma unroll
      for (int w = 0; w < warps; ++w) all += of_warps[w][column];
      to.put(blockIdx.x, which, column, cols, all);
    }
    __syncthreads();
  };
  put(0, sum_gamma);
  if constexpr (!Scaled) put(1, sum_beta);
}

namespace short_rows {

template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  using Team = TeamOf<Policy, Warp>;
  const NormProblem& p = call.plan.problem;
  const auto forward = [&](auto kernel) {
    const simt::Config at = launch_config(call, Warp);
    if constexpr (Policy::config.dependent_launch)
      return tile::launch_dependent(call.plan.device.cc, at, kernel, aligned(forward_of<T>(call)));
    else return simt::launch(at, kernel, aligned(forward_of<T>(call)));
  };
  if (p.added)
    return is_scaled(p) ? forward(norm_short<Policy, Team, T, true, true>)
                        : forward(norm_short<Policy, Team, T, true, false>);
  return is_scaled(p) ? forward(norm_short<Policy, Team, T, false, true>)
                      : forward(norm_short<Policy, Team, T, false, false>);
}

template <class Policy, class T, int Warp> static Status launch_gradient(const Call& call) {
  using Team = TeamOf<Policy, Warp>;
  const simt::Config at = launch_config(call, Warp);
  if (is_scaled(call.plan.problem))
    return simt::launch(at, norm_short_gradient<Policy, Team, T, true>, aligned(backward_of<T>(call)),
                        sums_output<T>(call));
  return simt::launch(at, norm_short_gradient<Policy, Team, T, false>, aligned(backward_of<T>(call)),
                      sums_output<T>(call));
}

}  // namespace short_rows
}  // namespace ridge::norm_detail
