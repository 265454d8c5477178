// Vector-aligned rows (whole 16-byte vectors), with few registers and instructions. A lane loads all its vectors of a
// row at once and keeps them in registers. With 64 registers for each thread, a multiprocessor has 1,024 threads of 8
// vectors each, and so up to 128 KB of rows in flight. Rare cases have a function of their own.
#pragma once
#include <ridge/norm/aligned.cuh>
#include <ridge/norm/even.hpp>
#include <ridge/norm/sums.cuh>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/tile/l2_prefetch.cuh>

namespace ridge::norm_detail {

// y of rows [rows, cols]; Added: of x + residual, which is written to sum.
// Scaled: y is x times a factor of the row and one of the column: rms_norm without beta.
// Preconditions: a block has one row; rows are vector-aligned, evenly spaced, and have at most in_registers vectors for
// each lane; gamma and beta are contiguous; the grid covers rows. y and sum may be x or residual.
template <class Policy, class Team, class T, bool Added, bool Scaled>
__global__ void __launch_bounds__(Team::threads, Policy::config.blocks_per_sm) norm_even(AlignedForward<T> a) {
  constexpr int K = Policy::config.in_registers, step = Team::lanes * tile::vector_elements<T>;
  constexpr int batch = 2;                    // vectors of gamma and of beta in flight: more would spill registers
  constexpr int added_batch = K < 4 ? K : 4;  // vectors of residual in flight
  static_assert(Team::rows == 1 && K % added_batch == 0 && K % batch == 0);
  using Sums = std::conditional_t<Scaled, Squares, Differences<float>>;
  __shared__ typename Team::template Scratch<Sums> scratch;
  __shared__ typename Team::template Scratch<Differences<float>> scratch_rarely[2];
  __shared__ WideScratch<Team> scratch_wide;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;  // the whole block
  const int cols = a.cols, first = Team::lane() * tile::vector_elements<T>;
  const T* x = a.x.row(row) + first;
  const auto has = [&](int k) { return first + k * step < cols; };
  if constexpr (Policy::config.dependent_launch) {
    const auto prefetch = [&](const T* from) { tile::prefetch_lines_l2<Team::lanes>(from, cols, Team::lane()); };
    begin_early([&] {
      prefetch(x - first);
      if (Added) prefetch(a.residual.row(row));
      if (row == 0 && a.gamma) prefetch(a.gamma);
      if (row == 0 && a.beta) prefetch(a.beta);
    });
  }

  // ---- load
  tile::Packed vector[K] = {};
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (has(k)) vector[k] = tile::load_packed(x + k * step);
  if constexpr (Added) {
    const T* residual = a.residual.row(row) + first;
    T* sum = a.sum.row(row) + first;
#pragma unroll
    for (int k0 = 0; k0 < K; k0 += added_batch) {
      tile::Packed other[added_batch] = {};
#pragma unroll
      for (int i = 0; i < added_batch; ++i)
        if (has(k0 + i)) other[i] = tile::load_packed(residual + (k0 + i) * step);
#pragma unroll
      for (int i = 0; i < added_batch; ++i)
        if (const int k = k0 + i; has(k))
          tile::store_packed(sum + k * step, vector[k] = packed_sum<T>(vector[k], other[i]));
    }
    x = sum;
  } else if (a.prefetch_distance > 0 && Team::lane() == 0 && row + a.prefetch_distance < a.rows) {
    tile::prefetch_row_l2(a.x.row(row + a.prefetch_distance), cols);
  }

  // ---- compute: distances from 0, which loses bits if the mean is far from 0
  // A condition for each vector, though zeros would do: else nvcc sums the first vector before it loads the last.
  Sums s{};
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (has(k)) for_elements<T>(vector[k], [&](float e, int) { s.add(e); });
  s = Team::reduce(s, plus<Sums>, scratch);
  const float per_column = 1 / static_cast<float>(cols);
  bool far;
  Statistics<float> normalised{};
  if constexpr (Scaled) {
    const float divisor = multiply_add(s.squares, per_column, a.eps);
    far = !is_ordinary(divisor);
    normalised.scale = reciprocal_root(divisor);
  } else {
    const Spread<float> spread = Spread<float>::of(s, a.rms ? 0.0f : per_column);
    far = spread.far(s) || !is_ordinary(spread.divisor(per_column, a.eps));
    normalised = spread.statistics(0, per_column, a.eps);
  }

  // ---- finish
  T* y = a.y.row(row) + first;
  tile::make_opaque(y);  // one address and constants
  const T *gamma = a.gamma, *beta = Scaled ? nullptr : a.beta;
  if (far || !tile::on_vectors(gamma, 0) || !tile::on_vectors(beta, 0)) {
    __syncthreads();  // other lanes' vectors of x
    return norm_aligned_rarely<Team, T>({x - first, y - first, gamma, beta, cols, a.eps, a.rms}, normalised, far,
                                        scratch_rarely, scratch_wide);
  }
#pragma unroll
  for (int k0 = 0; k0 < K; k0 += batch) {
    Affine<T> affine[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
      affine[i] = {tile::packed_fill<T>(1), tile::packed_fill<T>(0)};
      if (gamma && has(k0 + i)) affine[i].gamma = tile::load_packed(gamma + first + (k0 + i) * step);
      if (beta && has(k0 + i)) affine[i].beta = tile::load_packed(beta + first + (k0 + i) * step);
    }
#pragma unroll
    for (int i = 0; i < batch; ++i)
      if (const int k = k0 + i; has(k))
        tile::store_packed(y + k * step, Scaled ? scaled_vector<T>(normalised.scale, vector[k], affine[i].gamma)
                                                : normalised_vector<T>(normalised, vector[k], affine[i]));
  }
}

// A row of a gradient.            dy, x, dsum, dx, gamma: [cols]; dsum and gamma may be null; statistics: [3] or null
template <class T> struct GradientRow {
  const T *dy, *x, *dsum, *gamma;
  T* dx;
  int cols;
  float eps;
  bool rms;
  float* statistics;
};

// dx of a row in passes over memory, an element at a time: for gamma of any alignment, and for rows whose squares leave
// float32's range. A function, as norm_aligned_rarely().
// Precondition: all of the row's lanes call.
template <class Team, class T>
[[gnu::noinline]] static __device__ void gradient_aligned_rarely(GradientRow<T> r, SumsScratch<Team, float>& scratch) {
  const auto g_of = [&](int i) { return float(r.dy[i]) * (r.gamma ? float(r.gamma[i]) : 1.0f); };
  const auto elements = [&](auto&& f) {
#pragma unroll 1
    for (int i = Team::lane(); i < r.cols; i += Team::lanes) f(i);
  };
  const auto each_x = [&](auto&& f) { elements([&](int i) { f(float(r.x[i]), true); }); };
  const auto each = [&](auto&& f) { elements([&](int i) { f(float(r.x[i]), g_of(i), true); }); };
  const auto gradient = row_gradient<Team, float>(
      each_x, each, [] {}, static_cast<float>(r.cols), r.eps, r.rms, scratch,
      [&](float) { return wide_gradient_alone<lanes_alone<Team>>(r.x, r.dy, r.gamma, r.cols, r.eps, r.rms); });
  elements([&](int i) {
    const float dx = gradient(gradient.normalised(float(r.x[i])), g_of(i));
    r.dx[i] = T(r.dsum ? dx + float(r.dsum[i]) : dx);
  });
  if (Team::lane() == 0) store_statistics(r.statistics, 0, gradient.normalised);
}

// dx of rows [rows, cols], and their statistics for the kernels over columns; or dgamma and dbeta too, by further
// blocks of the grid (SumsPlan::beside).
// Scaled: of rms_norm without beta.
// Preconditions: as norm_even's, for dy, x, dsum and dx, and vectors_of_gradient(Config) vectors for each lane.
template <class Policy, class Team, class T, bool Scaled>
__global__ void __launch_bounds__(Team::threads, even::gradient_blocks_per_sm(Policy::config))
    norm_even_gradient(AlignedBackward<T> a, SumsOutput<T> to) {
  using tile::Packed;
  using Floats = tile::Floats<T>;
  using Sums = std::conditional_t<Scaled, RmsGradientSums, GradientSums<float>>;
  constexpr int K = even::vectors_of_gradient(Policy::config), V = tile::vector_elements<T>, step = Team::lanes * V;
  static_assert(Team::rows == 1);
  __shared__ typename Team::template Scratch<Sums> scratch[2];
  __shared__ SumsScratch<Team, float> scratch_rarely;
  const std::int64_t row = Team::row();
  if (row >= a.rows) {  // the whole block
    if constexpr (Policy::config.dependent_launch) {
      begin_early([] {});
      norm_columns_beside<Team, T, Scaled>(a, to, static_cast<int>(row - a.rows));
    }
    return;
  }
  const bool rms = Scaled || a.rms;
  const int cols = a.cols, first = Team::lane() * V;
  const T *x = a.x.row(row) + first, *dy = a.dy.row(row) + first, *gamma = a.gamma ? a.gamma + first : nullptr;
  const T* dsum = a.dsum.data ? a.dsum.row(row) + first : nullptr;
  T* dx = a.dx.row(row) + first;
  const auto has = [&](int k) { return first + k * step < cols; };
  if constexpr (Policy::config.dependent_launch) {
    const auto prefetch = [&](const T* from) { tile::prefetch_lines_l2<Team::lanes>(from, cols, Team::lane()); };
    begin_early([&] {
      prefetch(x - first);
      prefetch(dy - first);
      if (row == 0 && gamma) prefetch(a.gamma);
    });
  } else {
    tile::launch_dependents();  // the kernel over columns
  }
  const auto rarely = [&] {
    float* statistics = a.statistics ? a.statistics + row * statistics_size : nullptr;
    const T* of_dsum = dsum ? dsum - first : nullptr;
    gradient_aligned_rarely<Team, T>(
        {dy - first, x - first, of_dsum, a.gamma, dx - first, cols, a.eps, rms, statistics}, scratch_rarely);
  };
  if (!tile::on_vectors(a.gamma, 0)) return rarely();

  // ---- load: zeros for vectors that the row does not have
  Packed vector_x[K] = {}, vector_dy[K] = {};
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (has(k)) vector_x[k] = tile::load_packed(x + k * step), vector_dy[k] = tile::load_packed(dy + k * step);
  // Calls f(k, x, dy gamma) for each vector that the row has.
  const auto for_vectors = [&](auto&& f) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (!has(k)) continue;
      // Opaque, or nvcc unpacks them once for all passes, into registers that it does not have.
      tile::make_opaque(vector_x[k]), tile::make_opaque(vector_dy[k]);
      const tile::Packed packed_gamma = gamma ? tile::load_packed(gamma + k * step) : tile::packed_fill<T>(1);
      const Floats dy_of = tile::unpack_floats<T>(vector_dy[k]), of_gamma = tile::unpack_floats<T>(packed_gamma);
      Floats g;
#pragma unroll
      for (int v = 0; v < V; ++v) g[v] = dy_of[v] * of_gamma[v];
      f(k, tile::unpack_floats<T>(vector_x[k]), g);
    }
  };

  // ---- compute: distances from 0, and if the mean is far from 0, from it
  const float per_column = 1 / static_cast<float>(cols);
  float base = 0;
  Sums s{};
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    s = {};
    for_vectors([&](int, const Floats& of_x, const Floats& g) {
#pragma unroll
      for (int v = 0; v < V; ++v) s.add(of_x[v] - base, g[v]);
    });
    s = Team::reduce(s, plus<Sums>, scratch[pass]);
    if constexpr (Scaled) break;
    else {
      if (rms || !far_from_base(s, per_column)) break;
      base += s.first * per_column;
    }
  }
  const float divisor = multiply_add(s.squares, per_column, a.eps);
  RowGradient<float> gradient;
  if constexpr (Scaled) {
    const float scale = reciprocal_root(divisor);
    gradient = {{0, 0, scale}, 0, s.gd * scale * per_column};
  } else {
    gradient = gradient_of_sums(s, base, per_column, a.eps, rms);
  }
  if (!is_ordinary(divisor)) return rarely();

  // ---- finish
  for_vectors([&](int k, const Floats& of_x, const Floats& g) {
    Floats e{};
    if (dsum) e = tile::unpack_floats<T>(tile::load_packed(dsum + k * step));
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const float n = Scaled ? of_x[v] * gradient.normalised.scale : gradient.normalised(of_x[v]);
      e[v] += gradient(n, g[v]);
    }
    tile::store_packed(dx + k * step, tile::pack_floats<T>(e));
  });
  if (Team::lane() == 0) store_statistics(a.statistics, row, gradient.normalised);
}

namespace even {

template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  using Team = TeamOf<Policy, Warp>;
  const NormProblem& p = call.plan.problem;
  const bool scaled = is_scaled(p);
  const auto start = [&](auto kernel, const auto&... arguments) {
    const simt::Config at = launch_config(call, Warp);
    if constexpr (Policy::config.dependent_launch)
      return tile::launch_dependent(call.plan.device.cc, at, kernel, arguments...);
    else return simt::launch(at, kernel, arguments...);
  };
  if (p.backward) {
    if constexpr (!has_gradient(Policy::config)) return no_kernel();
    else {
      const AlignedBackward<T> a = aligned(backward_of<T>(call));
      const Operands& o = call.operands;
      const auto to = call.sums.beside ? SumsOutput<T>{.dgamma = static_cast<T*>(o.dgamma.data),
                                                       .dbeta = static_cast<T*>(o.dbeta.data)}
                                       : SumsOutput<T>{};
      return scaled ? start(norm_even_gradient<Policy, Team, T, true>, a, to)
                    : start(norm_even_gradient<Policy, Team, T, false>, a, to);
    }
  }
  const AlignedForward<T> a = aligned(forward_of<T>(call));
  if (p.added)
    return scaled ? start(norm_even<Policy, Team, T, true, true>, a)
                  : start(norm_even<Policy, Team, T, true, false>, a);
  return scaled ? start(norm_even<Policy, Team, T, false, true>, a)
                : start(norm_even<Policy, Team, T, false, false>, a);
}

}  // namespace even
}  // namespace ridge::norm_detail
