// 8 x 4 outputs per thread.
#pragma once
#include <ridge/conv/strided.cuh>

namespace ridge::conv_detail {

// y = epilogue(conv(x, w)); a thread has coarse_rows x coarse_columns outputs of one filter.
// Preconditions: gridDim.x * threads covers coarse_items() < 2^31.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    conv_coarse(const T* x, const T* w, T* y, StridedShape p, Epilogue<T> epilogue, Divider across, Divider down,
                Divider filters, unsigned items) {
  constexpr int R = coarse_rows, C = coarse_columns;
  unsigned column_tile = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (column_tile >= items) return;
  unsigned row_tile = across.divide(column_tile);
  unsigned k = down.divide(row_tile);
  const unsigned n = filters.divide(k);
  const std::int64_t i0 = std::int64_t{row_tile} * R, j0 = std::int64_t{column_tile} * C;
  const std::int64_t top = i0 * p.h.stride - p.h.pad, left = j0 * p.w.stride - p.w.pad;
  const std::int64_t first_channel = whole_quotient(k, p.filters) * p.channels;

  float sums[R][C] = {};
  for (std::int64_t c = 0; c < p.channels; ++c)
    for (std::int64_t a = 0; a < p.h.taps; ++a)
      for (std::int64_t b = 0; b < p.w.taps; ++b) {
        const float weight = float(w[p.f_at(k, c, a, b)]);
        const std::int64_t row0 = top + a * p.h.dilation, col0 = left + b * p.w.dilation;
        const T* from = x + p.x_at(n, first_channel + c, row0, col0);
        RIDGE_UNROLL_ON_GPU
        for (int i = 0; i < R; ++i) {
          const std::int64_t row = row0 + i * p.h.stride;
          RIDGE_UNROLL_ON_GPU
          for (int j = 0; j < C; ++j) {
            const std::int64_t col = col0 + j * p.w.stride;
            const bool inside = row >= 0 && row < p.h.inputs && col >= 0 && col < p.w.inputs;
            sums[i][j] += or_zero(from, i * p.h.stride * p.x[2] + j * p.w.stride * p.x[3], inside) * weight;
          }
        }
      }
  // Each iteration rotates the sums by one and uses element 0: the epilogue's code is there once, and no register is
  // indexed dynamically.
  RIDGE_KEEP_LOOP
  for (int iteration = 0; iteration < R * C; ++iteration) {
    const std::int64_t i = i0 + iteration / C, j = j0 + iteration % C;
    if (i < p.h.outputs && j < p.w.outputs) y[p.y_at(n, k, i, j)] = epilogue(sums[0][0], n, k, i, j);
    RIDGE_UNROLL_ON_GPU
    for (int next = 1; next < R * C; ++next) sums[(next - 1) / C][(next - 1) % C] = sums[next / C][next % C];
  }
}

namespace coarse {

template <int I, class T> static Status launch(const Arguments& args) {
  const ConvProblem& p = args.plan.problem;
  return simt::launch(launch_config(args), conv_coarse<Policy<I>, T>, static_cast<const T*>(args.x),
                      static_cast<const T*>(args.w), static_cast<T*>(args.y), strided_shape(p, p.x, p.w),
                      epilogue_of<T>(args), Divider(ceil_div(p.y.shape[3], coarse_columns)),
                      Divider(ceil_div(p.y.shape[2], coarse_rows)), Divider(p.y.shape[1]),
                      static_cast<unsigned>(coarse_items(p)));
}

}  // namespace coarse
}  // namespace ridge::conv_detail
