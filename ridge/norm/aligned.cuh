// What kernels of vector-aligned rows share (even.cuh, short.cuh): rows whose result is x times two factors, and rows
// that need another look, for which there is one function, so that its code lies apart from what most rows execute.
#pragma once
#include <ridge/norm/vector.cuh>
#include <ridge/tile/dependent_launch.cuh>

namespace ridge::norm_detail {

// The sum of squares alone, in place of Differences.
struct Squares {
  float squares;
  __device__ __forceinline__ void add(float e) { squares = fmaf(e, e, squares); }
  friend __device__ __forceinline__ Squares operator+(const Squares& a, const Squares& b) {
    return {a.squares + b.squares};
  }
};

// The sums that a gradient of rms_norm needs, of x and of g = dy gamma.
struct RmsGradientSums {
  float squares, gd;
  __device__ __forceinline__ void add(float x, float g) {
    squares = fmaf(x, x, squares);
    gd = fmaf(g, x, gd);
  }
  friend __device__ __forceinline__ RmsGradientSums operator+(const RmsGradientSums& a, const RmsGradientSums& b) {
    return {a.squares + b.squares, a.gd + b.gd};
  }
};

// x times the row's scale and gamma, for one vector.
template <class T>
__device__ __forceinline__ tile::Packed scaled_vector(float scale, const tile::Packed& x, const tile::Packed& gamma) {
  tile::Floats<T> e = tile::unpack_floats<T>(x);
  const tile::Floats<T> g = tile::unpack_floats<T>(gamma);
#pragma unroll
  for (int v = 0; v < tile::vector_elements<T>; ++v) e[v] = e[v] * scale * g[v];
  return tile::pack_floats<T>(e);
}

// Forward and Backward of evenly spaced rows, in about 100 bytes, not 700: a launch of few rows waits for each line of
// arguments.

// A tensor's rows, [rows, cols]; data is null if there is none.
template <class P> struct EvenRows {
  P* data;
  std::int64_t pitch;
  explicit EvenRows(const RowTensor<P>& t) : data(t.data), pitch(t.rows.stride[0]) {}
  RIDGE_HD P* row(std::int64_t r) const { return data + r * pitch; }
};
// x, y, residual, sum: [rows, cols]; gamma, beta: [cols], contiguous, or null
template <class T> struct AlignedForward {
  EvenRows<const T> x, residual;
  EvenRows<T> y, sum;
  const T *gamma, *beta;
  std::int64_t rows;
  int cols;
  Compute<T> eps;
  bool rms;
  std::int64_t prefetch_distance;  // in rows
};
template <class T> AlignedForward<T> aligned(const Forward<T>& a) {
  return {EvenRows(a.x), EvenRows(a.residual),     EvenRows(a.y), EvenRows(a.sum), a.gamma.data,       a.beta.data,
          a.rows,        static_cast<int>(a.cols), a.eps,         a.rms,           a.prefetch_distance};
}
// dy, x, dx, dsum: [rows, cols]; gamma: [cols] or null
template <class T> struct AlignedBackward {
  EvenRows<const T> dy, x, dsum;
  EvenRows<T> dx;
  const T* gamma;
  std::int64_t rows;
  int cols;
  Compute<T> eps;
  bool rms;
  Compute<T>* statistics;  // as Backward's
};
template <class T> AlignedBackward<T> aligned(const Backward<T>& a) {
  return {EvenRows(a.dy), EvenRows(a.x), EvenRows(a.dsum),         EvenRows(a.dx),
          a.gamma.data,   a.rows,        static_cast<int>(a.cols), a.eps,
          a.rms,          a.statistics};
}

// The start of a dependent launch (tile/dependent_launch.cuh): prefetches what the kernel will read, to the L2 cache,
// while the kernel before it ends.
template <class Prefetch> __device__ __forceinline__ void begin_early(Prefetch&& prefetch) {
  tile::launch_dependents();
  prefetch();
  tile::grid_dependency_wait();
}

// A row and its parameters.            x, y: [cols]; gamma, beta: [cols] or null
// cols is 0 for lanes of a warp that have no row.
template <class T> struct AlignedRow {
  const T* x;
  T* y;
  const T *gamma, *beta;
  int cols;
  float eps;
  bool rms;
};

// y of a row in two passes over memory, a vector at a time, for gamma and beta of any alignment. far: the sums lost
// bits, so they are taken again, of distances from the first element. Inlined, it would cost its callers registers.
// Precondition: all lanes of a warp call, and all threads of a block that has one row; x may be what they have written
// before a barrier.
template <class Team, class T>
[[gnu::noinline]] static __device__ void norm_aligned_rarely(
    AlignedRow<T> r, Statistics<float> normalised, bool far,
    typename Team::template Scratch<Differences<float>> (&scratch)[2], WideScratch<Team>& scratch_wide) {
  constexpr int V = tile::vector_elements<T>, step = Team::lanes * V;
  const int first = Team::lane() * V;
  if (far) {
    const float per_column = 1 / static_cast<float>(r.cols), per_element = r.rms ? 0.0f : per_column;
    const auto differences_from = [&](float base, auto& room) {
      Differences<float> d{0, 0};
#pragma unroll 1
      for (int at = first; at < r.cols; at += step)
        for_elements<T>(tile::load_packed(r.x + at), [&](float e, int) { d.add(e - base); });
      return Team::reduce(d, plus<Differences<float>>, room);
    };
    float base = r.rms || r.cols == 0 ? 0.0f : float(r.x[0]);
    Differences<float> d = differences_from(base, scratch[0]);
    Spread<float> spread = Spread<float>::of(d, per_element);
    // The first element, too, may be far from the mean.
    if (in_any_row<Team>(!r.rms && spread.far(d))) {
      base += r.rms ? 0.0f : spread.mean;
      spread = Spread<float>::of(differences_from(base, scratch[1]), per_element);
    }
    normalised = spread.statistics(base, per_column, r.eps);
    if (const float divisor = spread.divisor(per_column, r.eps); in_any_row<Team>(!is_ordinary(divisor))) {
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
    tile::store_packed(r.y + at, normalised_vector<T>(normalised, tile::load_packed(r.x + at), affine));
  }
}

}  // namespace ridge::norm_detail
