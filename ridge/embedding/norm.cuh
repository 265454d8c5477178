// Gathers rows of a table and computes their norms: with the row in registers, or reading it again for each pass.
//
// Mode layer computes a row's statistics in two passes: the mean of the distances from its first element, then the
// squares of their deviations from that mean. So nothing as large as the row's own mean is squared or rounded, and a
// constant row has distances of 0. Mode rms has no first pass; its distances are from 0.
#pragma once
#include <ridge/core/rows.hpp>
#include <ridge/embedding/indices.cuh>
#include <ridge/embedding/norm_variants.hpp>
#include <ridge/simt/rounded.hpp>
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/packed.cuh>
#include <ridge/tile/row_lanes.cuh>

#include <limits>

namespace ridge::embedding_norm_detail {

// table: [rows, cols]  indices: [n]  gamma, beta: [cols] or null  x, y: [n, cols]
template <class T> struct Operands {
  const T* table;
  embedding_detail::Indices indices;
  const T *gamma, *beta;
  T *x, *y;
  std::int64_t n, cols;
  float scale, eps;
  bool rms;
};

// Strides: any, or pitches of contiguous, evenly spaced rows; gamma and beta are then contiguous.
struct Strides {
  std::int64_t table_pitch, table_step, gamma_step, beta_step, x_step, y_step;
  RowOffsets x_rows, y_rows, indices;
};
struct Pitches {
  std::int64_t table_pitch, index_step, x_pitch, y_pitch;
};

// An element of x. Not a plain product: nvcc would fuse it with the difference that follows, which would then not use
// the rounded x.
template <class T> __device__ __forceinline__ T scaled(T value, float scale) {
  return scale == 1 ? value : T(simt::mul_rn(static_cast<float>(value), scale));
}

// Statistics that normalise x; base and mean are 0 in mode rms.
struct RowNorm {
  float base, mean, scale;  // base: the row's first element; mean: mean of the distances from it

  __device__ __forceinline__ float centred(float x) const { return (x - base) - mean; }
  __device__ __forceinline__ float operator()(float x, float gamma, float beta) const {
    return fmaf(centred(x) * scale, gamma, beta);
  }
};

template <class Team> struct RowScratch {  // for the reduction of each pass
  typename Team::template Scratch<float> mean, squares;
  typename Team::template Scratch<double> wide;
};

// The norm of a row; each(f) calls f with the elements of this lane. All lanes of the row call it.
template <class Team, class T, class Each>
__device__ __forceinline__ RowNorm row_norm(Each&& each, float first, const Operands<T>& a, RowScratch<Team>& scratch) {
  const float per_column = 1 / static_cast<float>(a.cols);
  const auto plus = [](float p, float q) { return p + q; };
  RowNorm norm{0, 0, 0};
  if (!a.rms) {
    norm.base = first;
    float mean = 0;  // weighted distances: the sum of large ones might leave the range of float32
    each([&](float x) { mean = fmaf(x - norm.base, per_column, mean); });
    norm.mean = Team::reduce(mean, plus, scratch.mean);
  }
  float squares = 0;
  each([&](float x) {
    const float d = norm.centred(x);
    squares = fmaf(d, d, squares);
  });
  squares = Team::reduce(squares, plus, scratch.squares);
  const float divisor = fmaf(squares, per_column, a.eps);
  norm.scale = rsqrtf(divisor);
  // Squares overflowed float32's range or underflowed: float64 holds the squares of every float.
  if (!(divisor >= 0x1p-100f && divisor <= std::numeric_limits<float>::max())) {
    double wide = 0;
    each([&](float x) {
      const double d = static_cast<double>(x) - static_cast<double>(norm.base) - static_cast<double>(norm.mean);
      wide = ::fma(d, d, wide);
    });
    wide = Team::reduce(
        wide, [](double p, double q) { return p + q; }, scratch.wide);
    norm.scale = static_cast<float>(::rsqrt(wide / static_cast<double>(a.cols) + static_cast<double>(a.eps)));
  }
  return norm;
}

// Team: the lanes of a row, of a warp or a block.
// Precondition: gridDim.x * Team::rows covers n.
template <class Team, class T>
__global__ void __launch_bounds__(Team::threads) embedding_norm_streaming(Operands<T> a, Strides s) {
  __shared__ RowScratch<Team> scratch;
  const std::int64_t i = Team::row();
  if (i >= a.n) return;  // all lanes of the row
  const int lane = Team::lane();
  const std::int64_t row = a.indices(s.indices(i));
  const T* from = row < 0 ? nullptr : a.table + row * s.table_pitch;
  T *x = a.x + s.x_rows(i), *y = a.y + s.y_rows(i);
  const auto element = [&](std::int64_t col) { return scaled(from ? from[col * s.table_step] : T(0.0f), a.scale); };

  for (std::int64_t col = lane; col < a.cols; col += Team::lanes) x[col * s.x_step] = element(col);
  const auto each = [&](auto&& f) {
#pragma unroll 4
    for (std::int64_t col = lane; col < a.cols; col += Team::lanes) f(static_cast<float>(element(col)));
  };
  const float first = a.rms ? 0.0f : static_cast<float>(element(0));
  const RowNorm normalised = row_norm<Team>(each, first, a, scratch);
  for (std::int64_t col = lane; col < a.cols; col += Team::lanes) {
    const float gamma = a.gamma ? static_cast<float>(a.gamma[col * s.gamma_step]) : 1.0f;
    const float beta = a.beta ? static_cast<float>(a.beta[col * s.beta_step]) : 0.0f;
    y[col * s.y_step] = T(normalised(static_cast<float>(element(col)), gamma, beta));
  }
}

// The vectors of gamma and beta that belong to one of x.
struct Affine {
  tile::Packed gamma, beta;
};
template <class T>
__device__ __forceinline__ tile::Packed norm_vector(const RowNorm& normalised, const tile::Packed& x,
                                                    const Affine& of) {
  tile::Floats<T> e = tile::unpack_floats<T>(x);
  const tile::Floats<T> gamma = tile::unpack_floats<T>(of.gamma), beta = tile::unpack_floats<T>(of.beta);
#pragma unroll
  for (int v = 0; v < tile::vector_elements<T>; ++v) e[v] = normalised(e[v], gamma[v], beta[v]);
  return tile::pack_floats<T>(e);
}

// The same with the row in registers, by vectors: lane l has vectors l, l + lanes, l + 2 lanes, ... of it.
// Preconditions: rows of table, x and y are contiguous, start on 16 bytes and are whole vectors, at most
// Config::vectors for each lane; those of x, y and indices are evenly spaced; gamma and beta are contiguous and start
// on 16 bytes; gridDim.x * Team::rows covers n.
template <class Policy, class Team, class T>
__global__ void __launch_bounds__(Team::threads, blocks_per_sm(Policy::config))
    embedding_norm_resident(Operands<T> a, Pitches s) {
  constexpr int K = Policy::config.vectors, V = tile::vector_elements<T>, step = Team::lanes * V;
  constexpr int batch = K > 1 ? 2 : 1;  // vectors whose gamma and beta are in flight together
  static_assert(K % batch == 0);
  using tile::Packed;
  __shared__ RowScratch<Team> scratch;
  const std::int64_t i = Team::row();
  if (i >= a.n) return;  // all lanes of the row
  const int cols = static_cast<int>(a.cols), first = Team::lane() * V;
  const auto has = [&](int k) { return first + k * step < cols; };

  // ---- load: the index and the row are two trips to memory; gamma and beta need not wait for either
  const std::int64_t row = a.indices(i * s.index_step);
  const auto load_affine = [&](int k) {
    Affine r{tile::packed_fill<T>(1), tile::packed_fill<T>(0)};
    if (a.gamma && has(k)) r.gamma = tile::load_packed(a.gamma + first + k * step);
    if (a.beta && has(k)) r.beta = tile::load_packed(a.beta + first + k * step);
    return r;
  };
  Affine ahead[batch];
#pragma unroll
  for (int k = 0; k < batch; ++k) ahead[k] = load_affine(k);
  Packed vector[K] = {};
  float base = 0;
  if (row >= 0) {
    const T* from = a.table + row * s.table_pitch;
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (has(k)) vector[k] = tile::load_packed(from + first + k * step);
    if (!a.rms) base = static_cast<float>(scaled(from[0], a.scale));
  }

  // ---- x
  if (a.scale != 1) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      tile::Floats<T> e = tile::unpack_floats<T>(vector[k]);
#pragma unroll
      for (int v = 0; v < V; ++v) e[v] = simt::mul_rn(e[v], a.scale);
      vector[k] = tile::pack_floats<T>(e);
    }
  }
  T* x = a.x + i * s.x_pitch + first;
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (has(k)) tile::store_packed(x + k * step, vector[k]);

  // ---- compute
  const auto each = [&](auto&& f) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      tile::make_opaque(vector[k]);  // else its elements stay unpacked between passes and exceed the registers
      if (has(k)) tile::for_elements<T>(vector[k], [&](float e, int) { f(e); });
    }
  };
  const RowNorm normalised = row_norm<Team>(each, base, a, scratch);

  // ---- y
  T* y = a.y + i * s.y_pitch + first;
#pragma unroll
  for (int k0 = 0; k0 < K; k0 += batch) {
    Affine affine[batch];
#pragma unroll
    for (int b = 0; b < batch; ++b) affine[b] = k0 == 0 ? ahead[b] : load_affine(k0 + b);
#pragma unroll
    for (int b = 0; b < batch; ++b)
      if (const int k = k0 + b; has(k)) {
        tile::make_opaque(vector[k]);
        tile::store_packed(y + k * step, norm_vector<T>(normalised, vector[k], affine[b]));
      }
  }
}

}  // namespace ridge::embedding_norm_detail
