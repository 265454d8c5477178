// The inputs of a tile of outputs in shared memory: any window, any strides.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/pool/functions.cuh>
#include <ridge/pool/launch.cuh>
#include <ridge/pool/shared.hpp>

#include <algorithm>

namespace ridge::pool_detail {

struct SharedShape {
  int h, w, oh, ow;
  int r, s, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  int rows, cols;  // inputs in shared memory, halo included
  bool count_include_pad;
  Divider tiles_w, tiles_h, channels;
  std::int64_t x[4] = {}, y[4] = {};
  PaddedPlane<int> padded = {};
};

// y[n, c, i, j] = F of a window of x                    x: [n, c, h, w]  y: [n, c, oh, ow], any strides
// A block computes a tile of Config::rows x shared_columns outputs of a plane.
// Shared memory: inputs [rows][cols], reduced rows [rows][shared_columns]
// Preconditions: a block for each tile, fewer than 2^31; sides below 2^30; smem_floats() of dynamic shared memory.
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
    if constexpr (F::clips) count = p.padded.taps(row * p.stride_h - p.pad_h, col * p.stride_w - p.pad_w, p.r, p.s);
    else if (F::counts && !p.count_include_pad)
      count = float(taps_inside(row * p.stride_h - p.pad_h, p.r, p.h)) *
              float(taps_inside(col * p.stride_w - p.pad_w, p.s, p.w));
    y[row * p.y[2] + col * p.y[3]] = T(F::template finish<T>(result, count, 1.0f / count));
  }
}

namespace shared {

template <class Policy, class F, class T> static Status launch(const Call<T>& call) {
  constexpr Config c = Policy::config;
  const PoolProblem& p = call.plan.problem;
  const PoolWindow& window = p.window;
  const Inputs inputs = inputs_of_tile(c, window);
  SharedShape s{.h = whole(p.x.shape[2]),
                .w = whole(p.x.shape[3]),
                .oh = whole(p.y.shape[2]),
                .ow = whole(p.y.shape[3]),
                .r = whole(window.size.h),
                .s = whole(window.size.w),
                .stride_h = whole(window.stride.h),
                .stride_w = whole(window.stride.w),
                .pad_h = whole(window.pad.top),
                .pad_w = whole(window.pad.left),
                .dilation_h = whole(window.dilation.h),
                .dilation_w = whole(window.dilation.w),
                .rows = whole(inputs.rows),
                .cols = whole(inputs.cols),
                .count_include_pad = counts_padding(p),
                .tiles_w = Divider(ceil_div(p.y.shape[3], shared_columns)),
                .tiles_h = Divider(ceil_div(p.y.shape[2], c.rows)),
                .channels = Divider(p.y.shape[1]),
                .padded = padded_plane<int>(p)};
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  return simt::launch(launch_config(call), pool_shared<Policy, F, T>, call.x, call.y, s);
}

}  // namespace shared
}  // namespace ridge::pool_detail
