// Rows of whole 16-byte vectors, by few registers and instructions. A lane loads all that it has of a row at once and
// keeps it in registers: 64 for each thread leave a multiprocessor 1,024 threads, of 8 units each, and so up to 128 KB
// of rows on their way. What is rare is a function of its own.
#pragma once
#include <ridge/norm/vector.cuh>
#include <ridge/tile/rows_ahead.cuh>

namespace ridge::norm_detail {

// The sum of squares alone, in the place of Differences.
struct Squares {
  float squares;
  __device__ __forceinline__ void add(float e) { squares = fmaf(e, e, squares); }
  friend __device__ __forceinline__ Squares operator+(const Squares& a, const Squares& b) {
    return {a.squares + b.squares};
  }
};

// x by the row's factor and gamma, of one unit.
template <class T>
__device__ __forceinline__ tile::Packed scaled_unit(float scale, const tile::Packed& x, const tile::Packed& gamma) {
  tile::Floats<T> e = tile::unpack_floats<T>(x);
  const tile::Floats<T> g = tile::unpack_floats<T>(gamma);
#pragma unroll
  for (int v = 0; v < tile::unit_elements<T>; ++v) e[v] = e[v] * scale * g[v];
  return tile::pack_floats<T>(e);
}

// A row and the vectors that go with it.            x, y: [cols]; gamma, beta: [cols] or null
template <class T> struct EvenRow {
  const T* x;
  T* y;
  const T *gamma, *beta;
  int cols;
  float eps;
  bool rms;
};

// y of a row in two passes over memory, a unit at a time, wherever gamma and beta lie. Far: its sums lost bits, so they
// are taken again, of distances from its first element. Apart from norm_even, whose registers its own would be.
// Precondition: all of the block calls; x may be what it has just written.
template <class Team, class T>
[[gnu::noinline]] static __device__ void norm_even_rarely(
    EvenRow<T> r, Statistics<float> normalised, bool far,
    typename Team::template Scratch<Differences<float>> (&scratch)[2], WideScratch<Team>& scratch_wide) {
  constexpr int V = tile::unit_elements<T>, step = Team::lanes * V;
  const int first = Team::lane() * V;
  __syncthreads();  // other lanes' units of x
  if (far) {
    const float per_column = 1 / static_cast<float>(r.cols), per_element = r.rms ? 0.0f : per_column;
    const auto differences_from = [&](float base, auto& room) {
      Differences<float> d{0, 0};
#pragma unroll 1
      for (int at = first; at < r.cols; at += step)
        for_elements<T>(tile::load_packed(r.x + at), [&](float e, int) { d.add(e - base); });
      return Team::reduce(d, plus<Differences<float>>, room);
    };
    float base = r.rms ? 0.0f : float(r.x[0]);
    Differences<float> d = differences_from(base, scratch[0]);
    Spread<float> spread = Spread<float>::of(d, per_element);
    if (!r.rms && spread.far(d)) {  // the first element is far from the mean too
      base += spread.mean;
      spread = Spread<float>::of(differences_from(base, scratch[1]), per_element);
    }
    normalised = spread.statistics(base, per_column, r.eps);
    if (const float divisor = spread.divisor(per_column, r.eps); !is_ordinary(divisor)) {
      const auto each = [&](auto&& f) {
#pragma unroll 1
        for (int at = first; at < r.cols; at += step)
          for_elements<T>(tile::load_packed(r.x + at), [&](float e, int) { f(e, true); });
      };
      normalised = wide_statistics<Team, float>(
          each, [] {}, static_cast<float>(r.cols), r.eps, r.rms, divisor, scratch_wide);
    }
  }
#pragma unroll 1
  for (int at = first; at < r.cols; at += step) {
    Affine<T> affine{tile::packed_fill<T>(1), tile::packed_fill<T>(0)};
    if (r.gamma) affine.gamma = tile::load_packed_anywhere(r.gamma + at);
    if (r.beta) affine.beta = tile::load_packed_anywhere(r.beta + at);
    tile::store_packed(r.y + at, norm_unit<T>(normalised, tile::load_packed(r.x + at), affine));
  }
}

// y of rows [rows, cols], or of their sum with residual, which sum gets.
// Scaled: y is x by a factor of the row and one of the column: rms_norm without beta.
// Preconditions: a row is a block's; rows start on 16 bytes, are of whole units, evenly spaced, and have at most
// in_registers units for each lane; gamma and beta are contiguous; the grid covers rows. y and sum may be x or
// residual.
template <class Policy, class Team, class T, bool Added, bool Scaled>
__global__ void __launch_bounds__(Team::threads, Policy::config.blocks_per_sm) norm_even(Forward<T> a) {
  constexpr int K = Policy::config.in_registers, step = Team::lanes * tile::unit_elements<T>;
  constexpr int batch = 2;        // units whose gamma and beta are on their way together: of more, registers spill
  constexpr int added_batch = 4;  // units of residual
  static_assert(Team::rows == 1 && K % added_batch == 0 && K % batch == 0);
  using Sums = std::conditional_t<Scaled, Squares, Differences<float>>;
  __shared__ typename Team::template Scratch<Sums> scratch;
  __shared__ typename Team::template Scratch<Differences<float>> scratch_rarely[2];
  __shared__ WideScratch<Team> scratch_wide;
  const std::int64_t row = Team::row();
  if (row >= a.rows) return;  // the whole block
  const int cols = static_cast<int>(a.cols), first = Team::lane() * tile::unit_elements<T>;
  const T* x = a.x.even_row(row) + first;
  const auto has = [&](int k) { return first + k * step < cols; };

  // ---- load
  tile::Packed unit[K] = {};
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (has(k)) unit[k] = tile::load_packed(x + k * step);
  if constexpr (Added) {
    const T* residual = a.residual.even_row(row) + first;
    T* sum = a.sum.even_row(row) + first;
#pragma unroll
    for (int k0 = 0; k0 < K; k0 += added_batch) {
      tile::Packed other[added_batch] = {};
#pragma unroll
      for (int i = 0; i < added_batch; ++i)
        if (has(k0 + i)) other[i] = tile::load_packed(residual + (k0 + i) * step);
#pragma unroll
      for (int i = 0; i < added_batch; ++i)
        if (const int k = k0 + i; has(k))
          tile::store_packed(sum + k * step, unit[k] = packed_sum<T>(unit[k], other[i]));
    }
    x = sum;
  } else if (a.prefetch_distance > 0 && Team::lane() == 0 && row + a.prefetch_distance < a.rows) {
    tile::bring_row(a.x.even_row(row + a.prefetch_distance), cols);
  }

  // ---- compute: elements as they are, which costs bits where their mean is far from 0
  // Each unit behind a condition, where zeros would do: or nvcc sums the first up before it loads the last.
  Sums s{};
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (has(k)) for_elements<T>(unit[k], [&](float e, int) { s.add(e); });
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
  T* y = a.y.even_row(row) + first;
  const T *gamma = a.gamma.data, *beta = Scaled ? nullptr : a.beta.data;
  if (far || !tile::on_units(gamma, 0) || !tile::on_units(beta, 0))
    return norm_even_rarely<Team, T>({x - first, y - first, gamma, beta, cols, a.eps, a.rms}, normalised, far,
                                     scratch_rarely, scratch_wide);
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
        tile::store_packed(y + k * step, Scaled ? scaled_unit<T>(normalised.scale, unit[k], affine[i].gamma)
                                                : norm_unit<T>(normalised, unit[k], affine[i]));
  }
}

namespace even {

template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  using Team = TeamOf<Policy, Warp>;
  const NormProblem& p = call.plan.problem;
  const auto forward = [&](auto kernel) {
    return simt::launch(launch_config(call, Warp), kernel, forward_of<T>(call));
  };
  const bool scaled = p.norm == Norm::rms && !p.beta;
  if (p.added)
    return scaled ? forward(norm_even<Policy, Team, T, true, true>) : forward(norm_even<Policy, Team, T, true, false>);
  return scaled ? forward(norm_even<Policy, Team, T, false, true>) : forward(norm_even<Policy, Team, T, false, false>);
}

}  // namespace even
}  // namespace ridge::norm_detail
