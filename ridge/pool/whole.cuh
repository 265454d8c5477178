// Kernels for any window and any strides: a thread per output, or a tile's inputs in shared memory.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/pool/functions.cuh>
#include <ridge/pool/variants.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::pool_detail {

struct Axes {  // sizes h and w of x; sizes of y and strides of both, along n, c, h, w
  std::int64_t h, w, outputs[4] = {}, x[4] = {}, y[4] = {};
};

// y[n, c, i, j] = F of a window of x                    x: [n, c, h, w]  y: [n, c, oh, ow], any strides
// Precondition: gridDim.x * threads covers y. Threads are ordered along y's innermost axis.
template <class Policy, class F, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    pool_naive(const T* x, T* y, Axes axes, PoolWindow window, bool channels_innermost) {
  std::uint64_t rest = std::uint64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  std::int64_t at[4];  // n, c, i, j
  const auto take = [&](int axis) {
    const std::uint64_t size = axes.outputs[axis], outer = quotient(rest, size);
    at[axis] = static_cast<std::int64_t>(rest - outer * size);
    rest = outer;
  };
  if (channels_innermost) take(1);
  take(3);
  take(2);
  if (!channels_innermost) take(1);
  at[0] = static_cast<std::int64_t>(rest);
  if (at[0] >= axes.outputs[0]) return;

  const std::int64_t top = at[2] * window.stride.h - window.pad.h, left = at[3] * window.stride.w - window.pad.w;
  x += at[0] * axes.x[0] + at[1] * axes.x[1];
  y += at[0] * axes.y[0] + at[1] * axes.y[1] + at[2] * axes.y[2] + at[3] * axes.y[3];
  float result = F::neutral();
  std::int64_t inside = 0;
  for (std::int64_t a = 0; a < window.size.h; ++a) {
    const std::int64_t i = top + a * window.dilation.h;
    if (i < 0 || i >= axes.h) continue;
    for (std::int64_t b = 0; b < window.size.w; ++b) {
      const std::int64_t j = left + b * window.dilation.w;
      if (j < 0 || j >= axes.w) continue;
      result = F::combine(result, float(x[i * axes.x[2] + j * axes.x[3]]));
      ++inside;
    }
  }
  const float count = float(window.count_include_pad ? window.size.h * window.size.w : inside);
  *y = T(F::template finish<T>(result, count, 1.0f / count));
}

struct SharedShape {
  int h, w, oh, ow;
  int r, s, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int rows, cols;  // inputs in shared memory, halo included
  bool count_include_pad;
  Divider tiles_w, tiles_h, channels;
  std::int64_t x[4] = {}, y[4] = {};
};

// The same, a block per tile of Config::rows x shared_columns outputs of a plane.
// Shared memory: inputs [rows][cols], reduced rows [rows][shared_columns]
// Preconditions: a block for each tile, fewer than 2^31; sides below 2^30; shared_floats() of dynamic shared memory.
template <class Policy, class F, class T>
__global__ void __launch_bounds__(Policy::config.threads) pool_shared(const T* x, T* y, SharedShape p) {
  constexpr int tile_rows = Policy::config.rows, lanes = shared_columns, groups = Policy::config.threads / lanes;
  float* inputs = simt::dynamic_shared<float>();
  float* reduced = inputs + p.rows * p.cols;
  const int lane = threadIdx.x % lanes, group = threadIdx.x / lanes;

  std::uint32_t column_tile = blockIdx.x;
  std::uint32_t row_tile = p.tiles_w.divide(column_tile);
  std::uint32_t channel = p.tiles_h.divide(row_tile);
  const std::uint32_t image = p.channels.divide(channel);
  x += image * p.x[0] + channel * p.x[1];
  y += image * p.y[0] + channel * p.y[1];
  const int first_row = static_cast<int>(row_tile) * tile_rows, first_col = static_cast<int>(column_tile) * lanes;
  // In 64 bits: the last tile may reach past 2^31.
  const std::int64_t top = std::int64_t{first_row} * p.stride_h - p.pad_h;
  const std::int64_t left = std::int64_t{first_col} * p.stride_w - p.pad_w;

  for (int row = group; row < p.rows; row += groups)
    for (int col = lane; col < p.cols; col += lanes) {
      const std::int64_t i = top + row, j = left + col;
      const bool inside = i >= 0 && i < p.h && j >= 0 && j < p.w;
      inputs[row * p.cols + col] = inside ? float(x[i * p.x[2] + j * p.x[3]]) : F::neutral();
    }
  __syncthreads();

  for (int row = group; row < p.rows; row += groups) {
    const float* in = inputs + row * p.cols + lane * p.stride_w;
    float result = F::neutral();
    for (int b = 0; b < p.s; ++b) result = F::combine(result, in[b * p.dilation_w]);
    reduced[row * lanes + lane] = result;
  }
  __syncthreads();

  const int col = first_col + lane;
  if (col >= p.ow) return;
  for (int tile_row = group; tile_row < tile_rows && first_row + tile_row < p.oh; tile_row += groups) {
    const float* in = reduced + tile_row * p.stride_h * lanes + lane;
    float result = F::neutral();
    for (int a = 0; a < p.r; ++a) result = F::combine(result, in[a * p.dilation_h * lanes]);
    const int row = first_row + tile_row;
    float count = float(p.r) * float(p.s);
    if (F::counts && !p.count_include_pad)
      count = float(taps_inside(row * p.stride_h - p.pad_h, p.r, p.h)) *
              float(taps_inside(col * p.stride_w - p.pad_w, p.s, p.w));
    y[row * p.y[2] + col * p.y[3]] = T(F::template finish<T>(result, count, 1.0f / count));
  }
}

}  // namespace ridge::pool_detail
