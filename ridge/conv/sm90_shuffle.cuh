// The product of sm90_shuffle.hpp, by gemm's kernel (gemm/sm90_wgmma.cuh): x as it lies, [pixels, c], times the filters
// as they lie, [c, taps x k]. Nothing is gathered or copied.
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/conv/sm90_output.cuh>
#include <ridge/conv/sm90_shuffle.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/gemm/sm90_wgmma_launch.cuh>

namespace ridge::conv_detail {

// Where the product's elements lie in y, and in a residual: rows are pixels of x, columns are taps times channels.
struct ShuffledPlaces {
  Divider columns, rows;     // of a plane of x
  Divider channels, across;  // of y; taps of a row

  struct Pixel {
    unsigned n, i, j;
  };
  struct Tap {
    unsigned a, b, k;
  };
  __device__ __forceinline__ Pixel pixel(unsigned row) const {
    unsigned j = row, i = columns.divide(j);
    const unsigned n = rows.divide(i);
    return {n, i, j};
  }
  __device__ __forceinline__ Tap tap(unsigned col) const {
    unsigned k = col, b = channels.divide(k);
    const unsigned a = across.divide(b);
    return {a, b, k};
  }
};

// Stores vectors of 16 bytes. The epilogue is gemm's, whose bias has a column for each channel.
// Preconditions: y's channels are contiguous whole vectors, aligned in y and in the residual.
template <class T> struct ShuffledVectors : ShuffledPlaces {
  static constexpr bool stores_alone = true, stores_rows = true;

  Windows<T> y;
  Windows<const T> residual;

  template <class Tensor> __device__ __forceinline__ std::int64_t row(const Tensor& of, unsigned at) const {
    const Pixel p = pixel(at);
    return p.n * of.n + p.i * of.i + p.j * of.j;
  }
  template <class Tensor> __device__ __forceinline__ std::int64_t column(const Tensor& of, unsigned at) const {
    const Tap t = tap(at);
    return t.a * of.a + t.b * of.b + t.k;
  }
  __device__ __forceinline__ unsigned bias_column(unsigned col) const { return tap(col).k; }
  template <int N>
  __device__ __forceinline__ VectorRows<T, N, ShuffledVectors> rows_at(unsigned char* staging, int row, int col, int m,
                                                                       int n) const {
    return {*this, staging, row, col, m, n};
  }
};

// Stores element by element, through conv's own epilogue: y of any strides.
template <class T> struct ShuffledElements : ShuffledPlaces {
  static constexpr bool stores_alone = true;

  T* y;
  int stride_h, stride_w;
  Epilogue<T> epilogue;
  std::int64_t y_strides[4] = {};

  // Precondition: channels are whole vectors, so that one is of one tap.
  template <int V> __device__ __forceinline__ void operator()(simt::vec<float, V> sums, gemm_kernels::At at) const {
    const Pixel p = pixel(static_cast<unsigned>(at.row));
    const Tap t = tap(static_cast<unsigned>(at.col));
    const std::int64_t y_i = std::int64_t{p.i} * stride_h + t.a, y_j = std::int64_t{p.j} * stride_w + t.b;
    T* to = y + p.n * y_strides[0] + t.k * y_strides[1] + y_i * y_strides[2] + y_j * y_strides[3];
    // Each iteration rotates the sums by one and uses element 0, so that the epilogue's code is there once.
    RIDGE_KEEP_LOOP
    for (int iteration = 0; iteration < V; ++iteration) {
      to[iteration * y_strides[1]] = epilogue(sums[0], p.n, t.k + iteration, y_i, y_j);
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v + 1 < V; ++v) sums[v] = sums[v + 1];
    }
  }
};

// ---- launch

namespace shuffle {

template <class Policy, class T, class Output>
[[nodiscard]] static Status launch_product(const Arguments& args, const gemm_kernels::ColumnEpilogue& by_columns,
                                           const Output& output) {
  namespace gemm = gemm_kernels;
  const ConvProblem& p = args.plan.problem;
  return gemm::launch_wgmma<Policy, T, gemm::Major::k, gemm::Major::outer>(
      {.a = {args.dy, pixel_pitch(p.y)}, .b = {args.w, p.w.stride[0]}}, gemm::WgmmaOutput{}, shape_of(p), by_columns,
      output, args.plan.device.sms, args.stream);
}

template <class Policy, class T> [[nodiscard]] static Status launch(const Arguments& args) {
  const ConvProblem& p = args.plan.problem;
  const Layout& out = *p.dx;
  const ShuffledPlaces places{.columns = Divider(p.y.shape[3]),
                              .rows = Divider(p.y.shape[2]),
                              .channels = Divider(p.w.shape[1]),
                              .across = Divider(p.w.shape[3])};
  T* const y = static_cast<T*>(args.dx);
  if (is_by_vectors<T>(out, y) && (!p.residual || is_by_vectors<T>(*p.residual, args.residual))) {
    ShuffledVectors<T> output{places, windows_of(p, out, y), {}};
    if (p.residual) output.residual = windows_of(p, *p.residual, static_cast<const T*>(args.residual));
    return launch_product<Policy, T>(args, column_epilogue(args), output);
  }
  ShuffledElements<T> output{places, y, whole(p.geometry.stride.h), whole(p.geometry.stride.w), epilogue_of<T>(args),
                             {}};
  std::copy_n(out.stride.begin(), 4, output.y_strides);
  return launch_product<Policy, T>(args, {}, output);
}

}  // namespace shuffle
}  // namespace ridge::conv_detail
