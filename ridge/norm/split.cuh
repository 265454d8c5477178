// Multi-block rows: few long rows, each split over many blocks. A first kernel writes the moments of every slice, and
// x + residual; in a second one, each block merges the moments of its row, all in the same order, and writes its slice.
#pragma once
#include <ridge/norm/vector.cuh>
#include <ridge/tile/row_slices.cuh>

namespace ridge::norm_detail {

// A slice's moments, relative to its first element; rms: relative to 0.
struct SlicePartial {
  Moments moments;
  float base;
  double squares;  // even if they leave float32's range
};
// The same with the sums of g = dy gamma and of g (x - base - moments.mean).
struct GradientMoments {
  Moments moments;
  float g, gd;
};
struct GradientPartial {
  GradientMoments sums;
  float base;
  double squares, gd;
};
// The slices of a row merged in float64, in order: for rows whose squares leave float32's range.
template <class Partial> struct WideSlices {
  double n = 0, mean = 0, squares = 0, g = 0, gd = 0;
  __device__ __forceinline__ WideSlices(const Partial* partials, int slices) {
#pragma unroll 1
    for (int i = 0; i < slices; ++i) {
      const Partial& p = partials[i];
      double of_g = 0, of_gd = 0;
      if constexpr (std::is_same_v<Partial, GradientPartial>) of_g = double(p.sums.g), of_gd = p.gd;
      const Moments& m = moments_of(p);
      if (m.n == 0) continue;
      const double all = n + double(m.n), apart = double(p.base) + double(m.mean) - mean, share = double(m.n) / all;
      squares += p.squares + apart * apart * n * share;
      // g (x - mean), relative to the mean of both
      gd += of_gd + of_g * apart * (n / all) - g * apart * share;
      g += of_g;
      mean += apart * share;
      n = all;
    }
  }

 private:
  static __device__ __forceinline__ const Moments& moments_of(const SlicePartial& p) { return p.moments; }
  static __device__ __forceinline__ const Moments& moments_of(const GradientPartial& p) { return p.sums.moments; }
};
__device__ __forceinline__ GradientMoments merged(const GradientMoments& a, const GradientMoments& b) {
  const Moments m = merged(a.moments, b.moments);
  const float gd = fmaf(a.g, a.moments.mean - m.mean, a.gd) + fmaf(b.g, b.moments.mean - m.mean, b.gd);
  return {m, a.g + b.g, gd};
}

// Preconditions: gridDim.x == rows * of.of_row; rows of all tensors are co-aligned and evenly spaced; gamma and
// beta are contiguous. sum may be x or residual.
template <class Team, class T>
__global__ void __launch_bounds__(Team::threads)
    norm_split_moments(Forward<T> a, SlicePartial* partials, tile::Slices of) {
  __shared__ typename Team::template Scratch<Moments> scratch;
  __shared__ WideScratch<Team> scratch_wide;
  tile::launch_dependents();
  const tile::SliceOfBlock mine(of, a.cols);
  const VectorPart<Team::threads, T> part(a, mine.row, mine.begin, mine.size);
  const float base = part.base();
  const Moments seen = Team::reduce(
      part.moments(base), [](const Moments& p, const Moments& q) { return merged(p, q); }, scratch);
  SlicePartial partial{seen, base, double(seen.squares)};
  if (const float divisor = seen.squares / seen.n + a.eps; !is_ordinary(divisor)) {
    const double n = double(mine.size);
    const auto m = WideMoments::of<Team>(
        part.each(), [] {}, n, 1, a.rms, scratch_wide);
    const auto near = float(m.mean);
    partial = {{float(n), float(m.mean - double(near)), seen.squares}, near, m.squares};
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = partial;
}

// y. Preconditions: as above; y may be x or residual.
template <class Team, class T>
__global__ void __launch_bounds__(Team::threads)
    norm_split_write(Forward<T> a, const SlicePartial* partials, tile::Slices of) {
  __shared__ typename Team::template Scratch<Moments> scratch;
  const tile::SliceOfBlock mine(of, a.cols);
  const VectorPart<Team::threads, T> part(a, mine.row, mine.begin, mine.size);
  tile::grid_dependency_wait();
  partials += mine.row * of.of_row;
  const float base = partials[0].base;
  Moments seen{0, 0, 0};
  for (int i = static_cast<int>(threadIdx.x); i < of.of_row; i += Team::threads) {
    SlicePartial p = partials[i];
    p.moments.mean += p.base - base;
    seen = merged(seen, p.moments);
  }
  seen = Team::reduce(
      seen, [](const Moments& p, const Moments& q) { return merged(p, q); }, scratch);
  Statistics<float> normalised = statistics_of(seen, base, a.eps);
  if (!is_ordinary(seen.squares / seen.n + a.eps)) {
    const WideSlices<SlicePartial> wide(partials, static_cast<int>(of.of_row));
    normalised = statistics_of_wide<float>(wide.mean, wide.squares, wide.n, a.eps, 1);
  }
  part.write(normalised);
}

// Goes through a block's slice of x and g = dy gamma, by vectors and by the elements that are in no whole vector:
//   on_vector(at, x, g): both as floats;  on_element(at, x, g)
template <int Threads, class T, class OnVector, class OnElement>
__device__ __forceinline__ void for_gradient(const Backward<T>& a, const tile::SliceOfBlock& mine, OnVector&& on_vector,
                                             OnElement&& on_element) {
  constexpr int V = tile::vector_elements<T>;
  const T *x = a.x.strided_row(mine.row) + mine.begin, *dy = a.dy.strided_row(mine.row) + mine.begin;
  const T* gamma = a.gamma.data ? a.gamma.data + mine.begin : nullptr;
  const std::int64_t to_boundary =
      (vector_bytes - reinterpret_cast<std::uintptr_t>(x) % vector_bytes) % vector_bytes / sizeof(T);
  const std::int64_t head = ::min(to_boundary, mine.size), vectors = (mine.size - head) / V, tail = head + vectors * V;
#pragma unroll 2
  for (std::int64_t u = threadIdx.x; u < vectors; u += Threads) {
    const std::int64_t at = head + u * V;
    const tile::Packed of_x = tile::load_packed(x + at), of_dy = tile::load_packed(dy + at);
    tile::Floats<T> g = tile::unpack_floats<T>(of_dy);
    if (gamma) {
      const tile::Floats<T> factor = tile::unpack_floats<T>(tile::load_packed_anywhere(gamma + at));
#pragma unroll
      for (int v = 0; v < V; ++v) g[v] *= factor[v];
    }
    on_vector(at, tile::unpack_floats<T>(of_x), g);
  }
  const auto one = [&](std::int64_t i) { on_element(i, float(x[i]), float(dy[i]) * (gamma ? float(gamma[i]) : 1.0f)); };
  for (std::int64_t i = threadIdx.x; i < head; i += Threads) one(i);
  for (std::int64_t i = tail + threadIdx.x; i < mine.size; i += Threads) one(i);
}

// Preconditions: as above, for dy, x, dsum and dx.
template <class Team, class T>
__global__ void __launch_bounds__(Team::threads)
    norm_split_gradient_moments(Backward<T> a, GradientPartial* partials, tile::Slices of) {
  constexpr int V = tile::vector_elements<T>;
  __shared__ typename Team::template Scratch<GradientMoments> scratch;
  __shared__ WideScratch<Team> scratch_wide;
  __shared__ typename Team::template Scratch<double> scratch_gd;
  tile::launch_dependents();
  const tile::SliceOfBlock mine(of, a.cols);
  const float base = a.rms ? 0.0f : float(a.x.strided_row(mine.row)[mine.begin]);
  GradientMoments seen{{0, 0, 0}, 0, 0};
  for_gradient<Team::threads, T>(
      a, mine,
      [&](std::int64_t, const tile::Floats<T>& x, const tile::Floats<T>& g) {
        GradientMoments m{{float(V), 0, 0}, 0, 0};
        if (!a.rms) {
#pragma unroll
          for (int v = 0; v < V; ++v) m.moments.mean += x[v] - base;
          m.moments.mean /= V;
        }
#pragma unroll
        for (int v = 0; v < V; ++v) {
          const float d = x[v] - base - m.moments.mean;
          m.moments.squares = fmaf(d, d, m.moments.squares);
          m.g += g[v];
          m.gd = fmaf(g[v], d, m.gd);
        }
        seen = merged(seen, m);
      },
      [&](std::int64_t, float x, float g) {
        const float d = x - base;
        seen = merged(seen, a.rms ? GradientMoments{{1, 0, d * d}, g, g * d} : GradientMoments{{1, d, 0}, g, 0});
      });
  seen = Team::reduce(
      seen, [](const GradientMoments& p, const GradientMoments& q) { return merged(p, q); }, scratch);
  GradientPartial partial{seen, base, double(seen.moments.squares), double(seen.gd)};
  if (const float divisor = seen.moments.squares / seen.moments.n + a.eps; !is_ordinary(divisor)) {
    const T *x = a.x.strided_row(mine.row) + mine.begin, *dy = a.dy.strided_row(mine.row) + mine.begin;
    const T* gamma = a.gamma.data ? a.gamma.data + mine.begin : nullptr;
    const auto each = [&](auto&& f) {
#pragma unroll 1
      for (std::int64_t i = threadIdx.x; i < mine.size; i += Team::threads) f(float(x[i]), true);
    };
    const double n = double(mine.size);
    const auto m = WideMoments::of<Team>(
        each, [] {}, n, 1, a.rms, scratch_wide);
    double gd = 0;
#pragma unroll 1
    for (std::int64_t i = threadIdx.x; i < mine.size; i += Team::threads)
      gd += double(float(dy[i]) * (gamma ? float(gamma[i]) : 1.0f)) * (double(float(x[i])) - m.mean);
    gd = Team::reduce(
        gd, [](double p, double q) { return p + q; }, scratch_gd);
    const auto near = float(m.mean);
    partial = {{{float(n), float(m.mean - double(near)), seen.moments.squares}, seen.g, seen.gd}, near, m.squares, gd};
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = partial;
}

// dx, and the row's statistics for the kernels over columns. Preconditions: as above.
template <class Team, class T>
__global__ void __launch_bounds__(Team::threads)
    norm_split_gradient_write(Backward<T> a, const GradientPartial* partials, tile::Slices of) {
  constexpr int V = tile::vector_elements<T>;
  __shared__ typename Team::template Scratch<GradientMoments> scratch;
  const tile::SliceOfBlock mine(of, a.cols);
  tile::grid_dependency_wait();
  partials += mine.row * of.of_row;
  const float base = partials[0].base;
  GradientMoments seen{{0, 0, 0}, 0, 0};
  for (int i = static_cast<int>(threadIdx.x); i < of.of_row; i += Team::threads) {
    GradientPartial p = partials[i];
    p.sums.moments.mean += p.base - base;
    seen = merged(seen, p.sums);
  }
  seen = Team::reduce(
      seen, [](const GradientMoments& p, const GradientMoments& q) { return merged(p, q); }, scratch);
  const float per_column = 1 / seen.moments.n;
  Statistics<float> normalised = statistics_of(seen.moments, base, a.eps);
  RowGradient<float> gradient{normalised, a.rms ? 0.0f : seen.g * per_column, seen.gd * normalised.scale * per_column};
  if (!is_ordinary(seen.moments.squares / seen.moments.n + a.eps)) {
    const WideSlices<GradientPartial> wide(partials, static_cast<int>(of.of_row));
    normalised = statistics_of_wide<float>(wide.mean, wide.squares, wide.n, a.eps, 1);
    const double mean_gn = wide.gd * ::rsqrt(wide.squares / wide.n + double(a.eps)) / wide.n;
    gradient = {normalised, a.rms ? 0.0f : float(wide.g / wide.n), float(mean_gn)};
  }
  const T* dsum = a.dsum.data ? a.dsum.strided_row(mine.row) + mine.begin : nullptr;
  T* dx = a.dx.strided_row(mine.row) + mine.begin;
  for_gradient<Team::threads, T>(
      a, mine,
      [&](std::int64_t at, const tile::Floats<T>& x, const tile::Floats<T>& g) {
        tile::Floats<T> d{};
        if (dsum) d = tile::unpack_floats<T>(tile::load_packed(dsum + at));
#pragma unroll
        for (int v = 0; v < V; ++v) d[v] += gradient(normalised(x[v]), g[v]);
        tile::store_packed(dx + at, tile::pack_floats<T>(d));
      },
      [&](std::int64_t i, float x, float g) {
        dx[i] = T(gradient(normalised(x), g) + (dsum ? float(dsum[i]) : 0.0f));
      });
  if (threadIdx.x == 0 && mine.begin == 0) store_statistics(a.statistics, mine.row, normalised);
}

namespace split {

// Launches both kernels; on Hopper the start of the second one overlaps the end of the first (dependent launch).
template <class Tensors, class Partial, class First, class Second>
static Status launch_both(const Call& call, const simt::Config& at, const Tensors& tensors, First first,
                          Second second) {
  static_assert(sizeof(Partial) <= partial_floats * sizeof(float));
  const NormPlan& plan = call.plan;
  const Slices slices = slices_of(variants[plan.variant].config, plan.problem, plan.device);
  auto* partials =
      reinterpret_cast<Partial*>(static_cast<std::byte*>(call.operands.workspace) + partials_at(call.sums));
  RIDGE_TRY(simt::launch(at, first, tensors, partials, slices));
  return tile::launch_dependent(call.plan.device.cc, at, second, tensors, static_cast<const Partial*>(partials),
                                slices);
}

template <class Policy, class T, int Warp> static Status launch(const Call& call) {
  using Team = TeamOf<Policy, Warp>;
  const simt::Config at = launch_config(call, Warp);
  if (call.plan.problem.backward)
    return launch_both<Backward<T>, GradientPartial>(
        call, at, backward_of<T>(call), norm_split_gradient_moments<Team, T>, norm_split_gradient_write<Team, T>);
  return launch_both<Forward<T>, SlicePartial>(call, at, forward_of<T>(call), norm_split_moments<Team, T>,
                                               norm_split_write<Team, T>);
}

}  // namespace split
}  // namespace ridge::norm_detail
