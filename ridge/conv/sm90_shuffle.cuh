// The product of sm90_shuffle.hpp, by gemm's kernel (gemm/sm90_wgmma.cuh): x as it lies, [pixels, c], times the filters
// as they lie, [c, taps x k]. Nothing is gathered or copied.
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/conv/sm90_shuffle.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/gemm/sm90_wgmma.cuh>

namespace ridge::conv_detail {

// Stores sums of a pixel's taps and channels through the epilogue, each at its place in the tap's pixel of y.
// Precondition: channels are a multiple of a vector's, so that a vector is of one tap.
template <class T> struct ShuffledOutput {
  static constexpr bool stores_alone = true;

  T* y;
  Divider columns, rows;     // of a plane of x
  Divider channels, across;  // of y; taps of a row
  int stride_h, stride_w;
  Epilogue<T> epilogue;
  std::int64_t y_strides[4] = {};
  bool vectors = false;  // vectors of channels are aligned vectors of y

  template <int V> __device__ __forceinline__ void operator()(simt::vec<float, V> sums, gemm_kernels::At at) const {
    unsigned j = static_cast<unsigned>(at.row), i = columns.divide(j);
    const unsigned n = rows.divide(i);
    unsigned k = static_cast<unsigned>(at.col), b = channels.divide(k);
    const unsigned a = across.divide(b);
    const std::int64_t y_i = std::int64_t{i} * stride_h + a, y_j = std::int64_t{j} * stride_w + b;
    T* to = y + n * y_strides[0] + k * y_strides[1] + y_i * y_strides[2] + y_j * y_strides[3];
    simt::vec<T, V> results;
    // Each iteration rotates the sums by one and uses element 0, so that the epilogue's code is there once.
    RIDGE_KEEP_LOOP
    for (int iteration = 0; iteration < V; ++iteration) {
      const T result = epilogue(sums[0], n, k + iteration, y_i, y_j);
      if (!vectors) to[iteration * y_strides[1]] = result;
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v + 1 < V; ++v) {
        sums[v] = sums[v + 1];
        results[v] = results[v + 1];
      }
      results[V - 1] = result;
    }
    if (vectors) simt::store(to, results);
  }
};

// ---- launch

namespace shuffle {

template <class Policy, class T> [[nodiscard]] static Status launch(const Arguments& args) {
  namespace gemm = gemm_kernels;
  const ConvProblem& p = args.plan.problem;
  const Layout& out = *p.dx;
  ShuffledOutput<T> output{.y = static_cast<T*>(args.dx),
                           .columns = Divider(p.y.shape[3]),
                           .rows = Divider(p.y.shape[2]),
                           .channels = Divider(p.w.shape[1]),
                           .across = Divider(p.w.shape[3]),
                           .stride_h = whole(p.geometry.stride.h),
                           .stride_w = whole(p.geometry.stride.w),
                           .epilogue = epilogue_of<T>(args)};
  std::copy_n(out.stride.begin(), 4, output.y_strides);
  constexpr std::int64_t V = gemm::fragment(f32);
  output.vectors = out.stride[1] == 1 && out.stride[0] % V == 0 && out.stride[2] % V == 0 && out.stride[3] % V == 0 &&
                   reinterpret_cast<std::uintptr_t>(args.dx) % (V * sizeof(T)) == 0;
  return gemm::launch_wgmma<Policy, T, gemm::Major::k, gemm::Major::outer>(
      {.a = {args.dy, pixel_pitch(p.y)}, .b = {args.w, p.w.stride[0]}}, gemm::WgmmaOutput{}, shape_of(p),
      gemm::ColumnEpilogue{}, output, args.plan.device.sms, args.stream);
}

}  // namespace shuffle
}  // namespace ridge::conv_detail
