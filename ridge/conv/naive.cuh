// The definition: a thread per output, of the convolution or of its gradients; and 8 x 4 outputs per thread.
#pragma once
#include <ridge/conv/epilogue.cuh>
#include <ridge/conv/variants.hpp>
#include <ridge/core/divider.hpp>

namespace ridge::conv_detail {

enum class Pass : std::uint8_t { output, inputs, filters };  // y, dx, dw

// Everything in 64 bits. Strides are of n c h w, n k i j and k c r s; those of x, y or w are the gradient's where it is
// what is computed.
struct Wide {
  std::int64_t images, channels, filters;  // channels and filters of a group
  std::int64_t groups;
  Axis h, w;
  std::int64_t x[4] = {}, y[4] = {}, f[4] = {};

  __device__ __forceinline__ std::int64_t x_at(std::int64_t n, std::int64_t c, std::int64_t i, std::int64_t j) const {
    return n * x[0] + c * x[1] + i * x[2] + j * x[3];
  }
  __device__ __forceinline__ std::int64_t y_at(std::int64_t n, std::int64_t k, std::int64_t i, std::int64_t j) const {
    return n * y[0] + k * y[1] + i * y[2] + j * y[3];
  }
  __device__ __forceinline__ std::int64_t f_at(std::int64_t k, std::int64_t c, std::int64_t a, std::int64_t b) const {
    return k * f[0] + c * f[1] + a * f[2] + b * f[3];
  }
};

__device__ __forceinline__ std::int64_t whole_quotient(std::int64_t a, std::int64_t b) {  // of what is not negative
  return static_cast<std::int64_t>(quotient(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

// What lies outside counts as zero, and is multiplied.
template <class T> __device__ __forceinline__ float or_zero(const T* data, std::int64_t at, bool inside) {
  return inside ? float(data[at]) : 0.0f;
}

// y = epilogue(conv(x, w)); dx from dy and w; dw from x and dy                      Wide says how the tensors lie
// Precondition: gridDim.x * threads covers the outputs; those of a null pointer are inputs or not there.
template <class Row, class T, Pass P>
__global__ void __launch_bounds__(Row::config.threads)
    conv_naive(const T* x, const T* w, const T* dy, T* out, Wide p, Epilogue<T> epilogue, bool channels_innermost) {
  std::uint64_t rest = std::uint64_t{blockIdx.x} * Row::config.threads + threadIdx.x;
  const std::int64_t channels = p.channels * p.groups, filters = p.filters * p.groups;
  const std::int64_t sizes[4] = {P == Pass::filters ? filters : p.images,
                                 P == Pass::filters  ? p.channels
                                 : P == Pass::inputs ? channels
                                                     : filters,
                                 P == Pass::filters  ? p.h.taps
                                 : P == Pass::inputs ? p.h.inputs
                                                     : p.h.outputs,
                                 P == Pass::filters  ? p.w.taps
                                 : P == Pass::inputs ? p.w.inputs
                                                     : p.w.outputs};
  std::int64_t at[4];
  const auto take = [&](int axis) {
    const std::uint64_t size = static_cast<std::uint64_t>(sizes[axis]), outer = quotient(rest, size);
    at[axis] = static_cast<std::int64_t>(rest - outer * size);
    rest = outer;
  };
  // Threads follow one another along the output's innermost axis.
  if (channels_innermost) take(1);
  take(3);
  take(2);
  if (!channels_innermost) take(1);
  at[0] = static_cast<std::int64_t>(rest);
  if (at[0] >= sizes[0]) return;

  float sum = 0;
  if constexpr (P == Pass::output) {
    const std::int64_t group = whole_quotient(at[1], p.filters);
    for (std::int64_t c = 0; c < p.channels; ++c)
      for (std::int64_t a = 0; a < p.h.taps; ++a)
        for (std::int64_t b = 0; b < p.w.taps; ++b) {
          const std::int64_t i = at[2] * p.h.stride - p.h.pad + a * p.h.dilation;
          const std::int64_t j = at[3] * p.w.stride - p.w.pad + b * p.w.dilation;
          const bool inside = i >= 0 && i < p.h.inputs && j >= 0 && j < p.w.inputs;
          sum += or_zero(x, p.x_at(at[0], group * p.channels + c, i, j), inside) * float(w[p.f_at(at[1], c, a, b)]);
        }
    out[p.y_at(at[0], at[1], at[2], at[3])] = epilogue(sum, at[0], at[1], at[2], at[3]);
  } else if constexpr (P == Pass::inputs) {
    // The output that meets this element through tap 0, and a lift by whole strides that keeps dividends from 0.
    const std::int64_t group = whole_quotient(at[1], p.channels), c = at[1] - group * p.channels;
    const std::int64_t lift_h = whole_quotient((p.h.taps - 1) * p.h.dilation, p.h.stride) + 1;
    const std::int64_t lift_w = whole_quotient((p.w.taps - 1) * p.w.dilation, p.w.stride) + 1;
    for (std::int64_t a = 0; a < p.h.taps; ++a) {
      const std::int64_t from_i = at[2] + p.h.pad - a * p.h.dilation + lift_h * p.h.stride;
      const std::int64_t i = whole_quotient(from_i, p.h.stride);
      if (i * p.h.stride != from_i) continue;
      for (std::int64_t b = 0; b < p.w.taps; ++b) {
        const std::int64_t from_j = at[3] + p.w.pad - b * p.w.dilation + lift_w * p.w.stride;
        const std::int64_t j = whole_quotient(from_j, p.w.stride);
        if (j * p.w.stride != from_j) continue;
        const bool inside = i >= lift_h && i - lift_h < p.h.outputs && j >= lift_w && j - lift_w < p.w.outputs;
        for (std::int64_t k = group * p.filters; k < (group + 1) * p.filters; ++k)
          sum += or_zero(dy, p.y_at(at[0], k, i - lift_h, j - lift_w), inside) * float(w[p.f_at(k, c, a, b)]);
      }
    }
    out[p.x_at(at[0], at[1], at[2], at[3])] = T(sum);
  } else {
    const std::int64_t c = whole_quotient(at[0], p.filters) * p.channels + at[1];
    for (std::int64_t n = 0; n < p.images; ++n)
      for (std::int64_t i = 0; i < p.h.outputs; ++i)
        for (std::int64_t j = 0; j < p.w.outputs; ++j) {
          const std::int64_t row = i * p.h.stride - p.h.pad + at[2] * p.h.dilation;
          const std::int64_t col = j * p.w.stride - p.w.pad + at[3] * p.w.dilation;
          const bool inside = row >= 0 && row < p.h.inputs && col >= 0 && col < p.w.inputs;
          sum += float(dy[p.y_at(n, at[0], i, j)]) * or_zero(x, p.x_at(n, c, row, col), inside);
        }
    out[p.f_at(at[0], at[1], at[2], at[3])] = T(sum);
  }
}

// y = epilogue(conv(x, w)), coarse_rows x coarse_columns outputs of one filter per thread.
// Preconditions: gridDim.x * threads covers coarse_items() < 2^31.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads)
    conv_coarse(const T* x, const T* w, T* y, Wide p, Epilogue<T> epilogue, Divider across, Divider down,
                Divider filters, unsigned items) {
  constexpr int R = coarse_rows, C = coarse_columns;
  unsigned column_tile = blockIdx.x * Row::config.threads + threadIdx.x;
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
  // The sums take turns at place 0, so that the epilogue's code is there once and registers need no index.
  RIDGE_KEEP_LOOP
  for (int turn = 0; turn < R * C; ++turn) {
    const std::int64_t i = i0 + turn / C, j = j0 + turn % C;
    if (i < p.h.outputs && j < p.w.outputs) y[p.y_at(n, k, i, j)] = epilogue(sums[0][0], n, k, i, j);
    RIDGE_UNROLL_ON_GPU
    for (int next = 1; next < R * C; ++next) sums[(next - 1) / C][(next - 1) % C] = sums[next / C][next % C];
  }
}

}  // namespace ridge::conv_detail
