// Few channels: the inputs of a tile of outputs in shared memory, read once for all filters.
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/core/divider.hpp>
#include <ridge/tile/async_copy.cuh>

#include <cmath>

namespace ridge::conv_detail {

struct DirectShape {
  int channels, filters;  // of a group
  int h, w, oh, ow, top, left;
  Divider tiles_w, tiles_h, groups;
  std::int64_t x[4] = {}, y[4] = {}, f[4] = {};
  bool pairs = false;    // rows of y are whole pairs, aligned to 8 bytes
  bool vectors = false;  // rows of x are whole 16-byte vectors, each inside or outside of the image as a whole
};

// y = epilogue(conv(x, w)), filters of Config::size, stride and dilation 1          x: [n, c, h, w]  y: [n, k, oh, ow]
//
// A block computes direct_rows() x direct_columns outputs of every filter of a group. A thread computes direct_strip
// neighbouring outputs in Config::rows adjacent rows, for Config::filters filters at a time: for one channel and a row
// of the filters it reads one new row of inputs (direct_window() floats; neighbouring threads' strips are 16 bytes
// apart) and that row of all of its filters, at the same address in every lane (a broadcast). With 6 filters of 6 x 6,
// 12 accesses of 16 bytes serve 288 multiply-adds.
// Shared memory: inputs [channels][direct_input_rows()][direct_pitch()], filters [groups of them][channels][size]
// [direct_filter_row()], outputs [direct_rows()][direct_columns].
// Preconditions: gridDim.x is direct_grid() < 2^31; planes of less than 2^31 elements; direct_smem_bytes().
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    conv_direct(const float* x, const float* w, float* y, DirectShape p, Epilogue<float> epilogue) {
  constexpr Config c = Policy::config;
  constexpr int S = c.size, F = c.filters, R = c.rows, V = direct_strip;
  constexpr int input_rows = direct_input_rows(c), pitch = direct_pitch(c), window = direct_window(c);
  constexpr int filter_row = direct_filter_row(c), row_groups = c.threads / direct_lanes;
  static_assert(V == 4, "a strip is one access of 16 bytes");
  float* image = simt::dynamic_shared<float>();
  float* filters = image + p.channels * (input_rows * pitch);
  const int filter_groups = (p.filters + F - 1) / F;

  const simt::tile<direct_lanes> lanes;
  const int lane = static_cast<int>(threadIdx.x) % direct_lanes,
            row_group = static_cast<int>(threadIdx.x) / direct_lanes;
  unsigned column_tile = blockIdx.x;
  unsigned row_tile = p.tiles_w.divide(column_tile);
  unsigned group = p.tiles_h.divide(row_tile);
  const unsigned n = p.groups.divide(group);
  const int i0 = static_cast<int>(row_tile) * direct_rows(c), j0 = static_cast<int>(column_tile) * direct_columns;

  // ---- load: all channels' inputs and all filters, with zeros for those that do not exist
  const float* plane = x + n * p.x[0] + std::int64_t{group} * p.channels * p.x[1];
  const int row_step = static_cast<int>(p.x[2]), column_step = static_cast<int>(p.x[3]);
  const auto load_rows = [&]<int Floats>() {  // Floats: of one access
    constexpr int accesses = pitch / Floats, iterations = (accesses + direct_lanes - 1) / direct_lanes;
    int column[iterations];
    bool inside[iterations];
    RIDGE_UNROLL_ON_GPU
    for (int t = 0; t < iterations; ++t) {
      const int j = j0 - p.left + (t * direct_lanes + lane) * Floats;
      column[t] = j * column_step;
      inside[t] = static_cast<unsigned>(j) < static_cast<unsigned>(p.w);
    }
    RIDGE_KEEP_LOOP
    for (int row = row_group; row < p.channels * input_rows; row += row_groups) {
      const int channel = row / input_rows, i = i0 - p.top + row % input_rows;
      const float* from = plane + channel * p.x[1] + i * row_step;
      const bool row_inside = static_cast<unsigned>(i) < static_cast<unsigned>(p.h);
      RIDGE_UNROLL_ON_GPU
      for (int t = 0; t < iterations; ++t)
        if (t * direct_lanes + lane < accesses)
          tile::copy_async<Floats * 4>(image + row * pitch + (t * direct_lanes + lane) * Floats, from + column[t],
                                       row_inside && inside[t] ? Floats * 4 : 0);
    }
  };
  if (p.vectors) load_rows.template operator()<4>();
  else load_rows.template operator()<1>();
  // Element e of filter f in row r of channel ch is at [f / F][ch][r][e][f % F].
  RIDGE_KEEP_LOOP
  for (int at = static_cast<int>(threadIdx.x); at < filter_groups * p.channels * (S * filter_row); at += c.threads) {
    const int row = at / filter_row, in_row = at % filter_row, r = row % S, outer = row / S;
    const int filter_group = outer / p.channels, ch = outer - filter_group * p.channels,
              f = filter_group * F + in_row % F, e = in_row / F;
    const bool there = f < p.filters && e < S;
    const float* from = w + (std::int64_t{group} * p.filters + f) * p.f[0] + ch * p.f[1] + r * p.f[2] + e * p.f[3];
    tile::copy_async<4>(filters + at, from, there ? 4 : 0);
  }
  tile::wait_for_copies();
  __syncthreads();

  // The cheap epilogue adds a bias and clamps to `floor` from below; NaN stays NaN.
  float* strips = filters + filter_groups * p.channels * (S * filter_row) + row_group * R * direct_columns;
  const bool relu = epilogue.activation == Activation::relu;
  const float floor = relu ? 0.0f : -INFINITY;
  const bool cheap = p.y[3] == 1 && !epilogue.residual && (relu || epilogue.activation == Activation::none);
  const int first_i = i0 + row_group * R, first_j = j0 + lane, strip_j = j0 + lane * V;
  const std::int64_t first_k = std::int64_t{group} * p.filters;
  // With aligned pairs of outputs, threads write their own strips. Else a lane writes every 32nd column from `lane` on;
  // own[i] of these exist in row i.
  const bool pairs = cheap && p.pairs;
  int own[R];
  RIDGE_UNROLL_ON_GPU
  for (int i = 0; i < R; ++i)
    own[i] = first_i + i < p.oh && first_j < p.ow ? (p.ow - first_j + direct_lanes - 1) / direct_lanes : 0;
  const bool whole = cheap && i0 + row_group * R + R <= p.oh && j0 + direct_columns <= p.ow;  // the warp's tile
  float* to = y + n * p.y[0] + first_k * p.y[1] + first_i * p.y[2];

  RIDGE_KEEP_LOOP
  for (int first = 0; first < p.filters; first += F) {
    // ---- compute
    float sums[R][F][V] = {};
    const float* from = image + row_group * R * pitch + lane * V;
    const float* weights = filters + first / F * (p.channels * S * filter_row);
    RIDGE_KEEP_LOOP
    for (int ch = 0; ch < p.channels; ++ch, from += input_rows * pitch) {
      float rows[R][window];  // inputs: row i of the tile is rows[i % R]
      const auto load_row = [&](int slot, const float* row) {
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < window; v += 4) {
          const auto vector = simt::load<4>(row + v);
          RIDGE_UNROLL_ON_GPU
          for (int e = 0; e < 4; ++e) rows[slot][v + e] = vector[e];
        }
      };
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i + 1 < R; ++i) load_row(i, from + i * pitch);
      // Unrolls as many rows of a filter as bring the ring of inputs back to its start, or all: more code would not fit
      // the instruction cache next to the scheduler.
      constexpr int unrolled = S % R == 0 ? R : S;
      RIDGE_KEEP_LOOP
      for (int r0 = 0; r0 < S; r0 += unrolled, weights += unrolled * filter_row) {
        RIDGE_UNROLL_ON_GPU
        for (int r = 0; r < unrolled; ++r) {
          load_row((r + R - 1) % R, from + (r0 + r + R - 1) * pitch);
          float filter[(filter_row + F - 1) / F][F];  // [e][f]
          RIDGE_UNROLL_ON_GPU
          for (int at = 0; at < filter_row; at += 4) {
            const auto vector = simt::load<4>(weights + r * filter_row + at);
            RIDGE_UNROLL_ON_GPU
            for (int q = 0; q < 4; ++q) filter[(at + q) / F][(at + q) % F] = vector[q];
          }
          // Serpentine order: one input is kept while the filters run up, the next while they run down. Two of a
          // product's three registers are then new, and in the same bank less often than if a filter was kept.
          RIDGE_UNROLL_ON_GPU
          for (int e = 0; e < S; ++e) RIDGE_UNROLL_ON_GPU
          for (int i = 0; i < R; ++i) RIDGE_UNROLL_ON_GPU
          for (int v = 0; v < V; ++v) RIDGE_UNROLL_ON_GPU
          for (int position = 0; position < F; ++position) {
            const int f = (i * V + v) % 2 ? F - 1 - position : position;
            sums[i][f][v] += rows[(r + i) % R][v + e] * filter[e][f];
          }
        }
      }
    }

    // ---- finish: the bias comes last, or products would be rounded at its magnitude
    if (cheap && epilogue.bias) {
      RIDGE_UNROLL_ON_GPU
      for (int f = 0; f < F; ++f) {
        if (first + f >= p.filters) continue;
        const float bias = epilogue.bias[(first_k + first + f) * epilogue.bias_stride];
        RIDGE_UNROLL_ON_GPU
        for (int i = 0; i < R; ++i) RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) sums[i][f][v] += bias;
      }
    }
    if (pairs && first + F <= p.filters) {
      if (relu) {
        RIDGE_UNROLL_ON_GPU
        for (int i = 0; i < R; ++i) RIDGE_UNROLL_ON_GPU
        for (int f = 0; f < F; ++f) RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) sums[i][f][v] = sums[i][f][v] < floor ? floor : sums[i][f][v];
      }
      float* strip = to + strip_j;
      to += F * p.y[1];
      RIDGE_UNROLL_ON_GPU
      for (int f = 0; f < F; ++f, strip += p.y[1]) RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < R; ++i) RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; v += 2)
        if (first_i + i < p.oh && strip_j + v < p.ow)
          simt::store(strip + i * p.y[2] + v, simt::vec<float, 2>{sums[i][f][v], sums[i][f][v + 1]});
      continue;
    }
    // A filter's strips pass through shared memory, so that lanes write neighbouring columns.
    const auto put_strips = [&](int f) {
      lanes.sync();
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < R; ++i) {
        simt::vec<float, V> strip;
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) strip[v] = sums[i][f][v];
        simt::store(strips + i * direct_columns + lane * V, strip);
      }
      lanes.sync();
    };
    const auto put = [&](int i, int v) {
      const float sum = strips[i * direct_columns + v * direct_lanes + lane];
      to[i * p.y[2] + first_j + v * direct_lanes] = sum < floor ? floor : sum;
    };
    if (whole && first + F <= p.filters) {
      RIDGE_UNROLL_ON_GPU
      for (int f = 0; f < F; ++f, to += p.y[1]) {
        put_strips(f);
        RIDGE_UNROLL_ON_GPU
        for (int i = 0; i < R; ++i) RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) put(i, v);
      }
      continue;
    }
    // Each iteration rotates the sums by one filter and uses filter 0: the code is there once.
    RIDGE_KEEP_LOOP
    for (int f = 0; f < F && first + f < p.filters; ++f, to += p.y[1]) {
      put_strips(0);
      RIDGE_UNROLL_ON_GPU
      for (int g = 1; g < F; ++g) RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < R; ++i) RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) sums[i][g - 1][v] = sums[i][g][v];
      if (cheap) {
        RIDGE_UNROLL_ON_GPU
        for (int i = 0; i < R; ++i) RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v)
          if (v < own[i]) put(i, v);
        continue;
      }
      RIDGE_KEEP_LOOP
      for (int at = lane; at < R * direct_columns; at += direct_lanes) {
        const int i = i0 + row_group * R + at / direct_columns, j = j0 + at % direct_columns;
        const std::int64_t k = first_k + first + f;
        if (i < p.oh && j < p.ow)
          y[n * p.y[0] + k * p.y[1] + i * p.y[2] + j * p.y[3]] = epilogue(strips[at], n, k, i, j);
      }
    }
  }
}

namespace direct {

template <int I> static Status launch(const Arguments& args) {
  constexpr Config c = Policy<I>::config;
  const ConvProblem& p = args.plan.problem;
  DirectShape s{.channels = whole(channels_of_group(p)),
                .filters = whole(filters_of_group(p)),
                .h = whole(p.x.shape[2]),
                .w = whole(p.x.shape[3]),
                .oh = whole(p.y.shape[2]),
                .ow = whole(p.y.shape[3]),
                .top = whole(p.geometry.pad.top),
                .left = whole(p.geometry.pad.left),
                .tiles_w = Divider(ceil_div(p.y.shape[3], direct_columns)),
                .tiles_h = Divider(ceil_div(p.y.shape[2], direct_rows(c))),
                .groups = Divider(p.geometry.groups)};
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  std::copy_n(p.w.stride.begin(), 4, s.f);
  s.pairs = has_vectors<2>(p.y, args.y);
  s.vectors = has_vectors<4>(p.x, args.x) && p.geometry.pad.left % 4 == 0;
  return simt::launch(launch_config(args), conv_direct<Policy<I>>, static_cast<const float*>(args.x),
                      static_cast<const float*>(args.w), static_cast<float*>(args.y), s, epilogue_of<float>(args));
}

}  // namespace direct
}  // namespace ridge::conv_detail
