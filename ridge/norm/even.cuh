// Vector-aligned rows (whole 16-byte vectors), with few registers and instructions. A lane loads all its vectors of a
// row at once and keeps them in registers. With 64 registers for each thread, a multiprocessor has 1,024 threads of 8
// vectors each, and so up to 128 KB of rows in flight. Rare cases have a function of their own.
#pragma once
#include <ridge/norm/aligned.cuh>
#include <ridge/tile/l2_prefetch.cuh>

namespace ridge::norm_detail {

// y of rows [rows, cols]; Added: of x + residual, which is written to sum.
// Scaled: y is x times a factor of the row and one of the column: rms_norm without beta.
// Preconditions: a block has one row; rows are vector-aligned, evenly spaced, and have at most in_registers vectors for
// each lane; gamma and beta are contiguous; the grid covers rows. y and sum may be x or residual.
template <class Policy, class Team, class T, bool Added, bool Scaled>
__global__ void __launch_bounds__(Team::threads, Policy::config.blocks_per_sm) norm_even(Forward<T> a) {
  constexpr int K = Policy::config.in_registers, step = Team::lanes * tile::vector_elements<T>;
  constexpr int batch = 2;        // vectors of gamma and of beta in flight: more would spill registers
  constexpr int added_batch = 4;  // vectors of residual in flight
  static_assert(Team::rows == 1 && K % added_batch == 0 && K % batch == 0);
  using Sums = std::conditional_t<Scaled, Squares, Differences<float>>;
  __shared__ typename Team::template Scratch<Sums> scratch;
  __shared__ typename Team::template Scratch<Differences<float>> scratch_rarely[2];
  __shared__ WideScratch<Team> scratch_wide;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;  // the whole block
  const int cols = static_cast<int>(a.cols), first = Team::lane() * tile::vector_elements<T>;
  const T* x = a.x.strided_row(row) + first;
  const auto has = [&](int k) { return first + k * step < cols; };

  // ---- load
  tile::Packed vector[K] = {};
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (has(k)) vector[k] = tile::load_packed(x + k * step);
  if constexpr (Added) {
    const T* residual = a.residual.strided_row(row) + first;
    T* sum = a.sum.strided_row(row) + first;
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
    tile::prefetch_row_l2(a.x.strided_row(row + a.prefetch_distance), cols);
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
  T* y = a.y.strided_row(row) + first;
  const T *gamma = a.gamma.data, *beta = Scaled ? nullptr : a.beta.data;
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

namespace even {

template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  using Team = TeamOf<Policy, Warp>;
  const NormProblem& p = call.plan.problem;
  const auto forward = [&](auto kernel) {
    return simt::launch(launch_config(call, Warp), kernel, forward_of<T>(call));
  };
  const bool scaled = is_scaled(p);
  if (p.added)
    return scaled ? forward(norm_even<Policy, Team, T, true, true>) : forward(norm_even<Policy, Team, T, true, false>);
  return scaled ? forward(norm_even<Policy, Team, T, false, true>) : forward(norm_even<Policy, Team, T, false, false>);
}

}  // namespace even
}  // namespace ridge::norm_detail
