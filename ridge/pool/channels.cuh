// 16 bytes of neighbouring channels per thread, of one window or of several neighbouring ones.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/pool/channels.hpp>
#include <ridge/pool/functions.cuh>
#include <ridge/pool/launch.cuh>
#include <ridge/tile/packed.cuh>

namespace ridge::pool_detail {

using tile::Packed;

struct ChannelsShape {
  int h, w, oh, ow;
  unsigned items;
  // By vectors of channels, by threads per row of outputs, and per column (`below` of them together).
  Divider vectors, across, down;
  int r, s, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
  bool count_include_pad;
  std::int64_t x[3], y[3];  // strides of n, h, w
  PaddedPlane<int> padded;
};

// y[n, i, j, c] = F of a window of x, V channels per thread, of Config::rows x Config::columns neighbouring outputs.
//                                                     x: [n, h, w, c]  y: [n, oh, ow, c], channels contiguous
// Preconditions: gridDim.x * threads covers items < 2^31; sides below 2^30; all steps are whole vectors of 16 bytes. A
// table row with a size takes only that size, without dilation; one with a stride only that stride; several outputs
// need both. Threads are ordered along channels, then `below` of them down a column of outputs, then along rows.
template <class Policy, class F, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    pool_channels(const T* x, T* y, ChannelsShape p) {
  constexpr int K = Policy::config.size, S = Policy::config.stride > 0 ? Policy::config.stride : 1;
  constexpr int R = Policy::config.rows, C = Policy::config.columns, V = tile::vector_elements<T>;
  constexpr unsigned B = sizeof(T) == 2 ? Policy::config.below_16bit : Policy::config.below;
  static_assert(R * C == 1 || (K > 0 && Policy::config.stride > 0), "what outputs share is known by size and stride");
  const unsigned item = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (item >= p.items) return;
  unsigned vector = item;
  unsigned j = p.vectors.divide(vector);
  const unsigned lower = j % B;
  j /= B;
  unsigned i = p.across.divide(j);
  const unsigned n = p.down.divide(i);
  const int first_row = static_cast<int>(i * B + lower) * R, first_col = static_cast<int>(j) * C;
  if (B > 1 && first_row >= p.oh) return;
  const int top = first_row * p.stride_h - p.pad_h, left = first_col * p.stride_w - p.pad_w;
  x += n * p.x[0] + vector * V;
  y += n * p.y[0] + first_row * p.y[1] + first_col * p.y[2] + vector * V;

  const Packed nothing = tile::packed_fill<T>(F::neutral());
  const auto load = [&](int row, int col) {
    const bool inside = static_cast<unsigned>(row) < static_cast<unsigned>(p.h) &&
                        static_cast<unsigned>(col) < static_cast<unsigned>(p.w);
    return inside ? tile::load_packed(x + row * p.x[1] + col * p.x[2]) : nothing;
  };
  const auto finish = [&](int o, int c, const Channels<F, T>& result) {
    float count = float(p.r) * float(p.s);
    if constexpr (F::clips) count = p.padded.taps(top + o * S, left + c * S, p.r, p.s);
    else if (F::counts && !p.count_include_pad)
      count = float(taps_inside(top + o * S, p.r, p.h)) * float(taps_inside(left + c * S, p.s, p.w));
    if (first_row + o < p.oh && (C == 1 || first_col + c < p.ow))
      tile::store_packed(y + o * p.y[1] + c * p.y[2], result.finish(count, F::counts ? 1.0f / count : 0.0f));
  };
  if constexpr (K > 0) {
    // By input rows: each is reduced once, for all outputs that contain it, while the next ones are in flight.
    constexpr int in_rows = (R - 1) * S + K, in_cols = (C - 1) * S + K;
    constexpr int in_flight = Policy::config.rows_in_flight < in_rows ? Policy::config.rows_in_flight : in_rows;
    Packed in[in_rows][in_cols];
    Channels<F, T> result[R][C];
#pragma unroll
    for (int next = 0; next < in_rows + in_flight; ++next) {
      if (next < in_rows) {
#pragma unroll
        for (int b = 0; b < in_cols; ++b) in[next][b] = load(top + next, left + b);
      }
      const int a = next - in_flight;
      if (a < 0) continue;
      Channels<F, T> of[in_cols], row[C];
#pragma unroll
      for (int b = 0; b < in_cols; ++b) of[b] = Channels<F, T>(in[a][b]);
      if constexpr (C % 2 == 0 && K == 3 && S == 1) {
#pragma unroll
        for (int c = 0; c < C; c += 2) {  // computes the part that two windows share once
          row[c] = of[c + 1];
          row[c].combine(of[c + 2]);
          row[c + 1] = row[c];
          row[c].combine(of[c]);
          row[c + 1].combine(of[c + 3]);
        }
      } else {
#pragma unroll
        for (int c = 0; c < C; ++c) {
          row[c] = of[c * S];
#pragma unroll
          for (int b = 1; b < K; ++b) row[c].combine(of[c * S + b]);
        }
      }
#pragma unroll
      for (int o = 0; o < R; ++o) {
        const int tap = a - o * S;
#pragma unroll
        for (int c = 0; c < C; ++c) {
          if (tap == 0) result[o][c] = row[c];
          else if (tap > 0 && tap < K) result[o][c].combine(row[c]);
          if (tap == K - 1) finish(o, c, result[o][c]);
        }
      }
    }
  } else {
    Channels<F, T> result(nothing);
    for (int a = 0; a < p.r; ++a)
#pragma unroll 4
      for (int b = 0; b < p.s; ++b)
        result.combine(Channels<F, T>(load(top + a * p.dilation_h, left + b * p.dilation_w)));
    finish(0, 0, result);
  }
}

namespace channels {

template <class Policy, class F, class T> static Status launch(const Call<T>& call) {
  constexpr Config c = Policy::config;
  const PoolProblem& p = call.plan.problem;
  const PoolWindow& window = p.window;
  const Layout &in = p.x, &out = p.y;
  const ChannelsShape s{.h = whole(in.shape[2]),
                        .w = whole(in.shape[3]),
                        .oh = whole(out.shape[2]),
                        .ow = whole(out.shape[3]),
                        .items = static_cast<unsigned>(items_of(c, p)),
                        .vectors = Divider(out.shape[1] / vector_elements(p.dtype)),
                        .across = Divider(ceil_div(out.shape[3], c.columns)),
                        .down = Divider(ceil_div(out.shape[2], c.rows * below(c, p.dtype))),
                        .r = whole(window.size.h),
                        .s = whole(window.size.w),
                        .stride_h = whole(window.stride.h),
                        .stride_w = whole(window.stride.w),
                        .pad_h = whole(window.pad.top),
                        .pad_w = whole(window.pad.left),
                        .dilation_h = whole(window.dilation.h),
                        .dilation_w = whole(window.dilation.w),
                        .count_include_pad = counts_padding(p),
                        .x = {in.stride[0], in.stride[2], in.stride[3]},
                        .y = {out.stride[0], out.stride[2], out.stride[3]},
                        .padded = padded_plane<int>(p)};
  return simt::launch(launch_config(call), pool_channels<Policy, F, T>, call.x, call.y, s);
}

}  // namespace channels
}  // namespace ridge::pool_detail
