// A column of outputs in each thread's registers: any strides and padding.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/pool/column.hpp>
#include <ridge/pool/functions.cuh>
#include <ridge/pool/launch.cuh>

#include <algorithm>

namespace ridge::pool_detail {

struct ColumnShape {
  int h, w, oh, ow, pad_h, pad_w;
  unsigned items;
  Divider across, down, channels;  // by outputs per row, by threads per column of outputs, by channels
  bool count_include_pad;
  std::int64_t x[4] = {}, y[4] = {};
  PaddedPlane<int> padded = {};
};

// y[n, c, i, j] = F of a window of x, Config::size square, with its stride
//                                                       x: [n, c, h, w]  y: [n, c, oh, ow], any strides and padding
// A thread computes Config::rows outputs of a column; each of its input rows is read and reduced once.
// Preconditions: gridDim.x * threads covers items < 2^31; sides below 2^30.
template <class Policy, class F, class T>
__global__ void __launch_bounds__(Policy::config.threads) pool_column(const T* x, T* y, ColumnShape p) {
  constexpr int K = Policy::config.size, S = Policy::config.stride, R = Policy::config.rows, in_rows = (R - 1) * S + K;
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned col = item;
  unsigned down = p.across.divide(col);
  unsigned channel = p.down.divide(down);
  const unsigned image = p.channels.divide(channel);
  const int first_row = static_cast<int>(down) * R;
  const int top = first_row * S - p.pad_h, left = static_cast<int>(col) * S - p.pad_w;
  x += image * p.x[0] + channel * p.x[1];
  y += image * p.y[0] + channel * p.y[1] + first_row * p.y[2] + col * p.y[3];

  T in[in_rows][K];
#pragma unroll
  for (int i = 0; i < in_rows; ++i)
#pragma unroll
    for (int b = 0; b < K; ++b) {
      const bool inside = static_cast<unsigned>(top + i) < static_cast<unsigned>(p.h) &&
                          static_cast<unsigned>(left + b) < static_cast<unsigned>(p.w);
      in[i][b] = inside ? x[(top + i) * p.x[2] + (left + b) * p.x[3]] : T(F::neutral());
    }
  float row[in_rows];
#pragma unroll
  for (int i = 0; i < in_rows; ++i) {
    row[i] = float(in[i][0]);
#pragma unroll
    for (int b = 1; b < K; ++b) row[i] = F::combine(row[i], float(in[i][b]));
  }
#pragma unroll
  for (int o = 0; o < R; ++o) {
    float result = row[o * S];
#pragma unroll
    for (int a = 1; a < K; ++a) result = F::combine(result, row[o * S + a]);
    float count = float(K * K);
    if constexpr (F::clips) count = p.padded.taps(top + o * S, left, K, K);
    else if (F::counts && !p.count_include_pad)
      count = float(taps_inside(top + o * S, K, p.h) * taps_inside(left, K, p.w));
    if (first_row + o < p.oh) y[o * p.y[2]] = T(F::template finish<T>(result, count, 1.0f / count));
  }
}

namespace column {

template <class Policy, class F, class T> static Status launch(const Call<T>& call) {
  constexpr Config c = Policy::config;
  const PoolProblem& p = call.plan.problem;
  ColumnShape s{.h = whole(p.x.shape[2]),
                .w = whole(p.x.shape[3]),
                .oh = whole(p.y.shape[2]),
                .ow = whole(p.y.shape[3]),
                .pad_h = whole(p.window.pad.top),
                .pad_w = whole(p.window.pad.left),
                .items = static_cast<unsigned>(items_of(c, p)),
                .across = Divider(p.y.shape[3]),
                .down = Divider(ceil_div(p.y.shape[2], c.rows)),
                .channels = Divider(p.y.shape[1]),
                .count_include_pad = counts_padding(p),
                .padded = padded_plane<int>(p)};
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  return simt::launch(launch_config(call), pool_column<Policy, F, T>, call.x, call.y, s);
}

}  // namespace column
}  // namespace ridge::pool_detail
