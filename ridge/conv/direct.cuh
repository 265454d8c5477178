// Few channels: the inputs of a tile of outputs in shared memory, read once for all filters.
#pragma once
#include <ridge/conv/epilogue.cuh>
#include <ridge/conv/variants.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/tile/async_copy.cuh>

namespace ridge::conv_detail {

struct DirectShape {
  int channels, filters;  // of a group
  int h, w, oh, ow, top, left;
  Divider tiles_w, tiles_h, groups;
  std::int64_t x[4] = {}, y[4] = {}, f[4] = {};
};

// y = epilogue(conv(x, w)), filters of Config::size, stride and dilation 1          x: [n, c, h, w]  y: [n, k, oh, ow]
//
// A block makes direct_rows() x direct_columns outputs of every filter of a group. A thread has direct_strip
// neighbouring outputs of Config::rows rows below one another, of Config::filters filters at a time: for one channel and
// one row of the filters it reads one new row of inputs (direct_window() floats, its neighbours' strips 16 bytes apart)
// and the row's elements of all of its filters, which is the same address in every lane. Of 6 x 6 and 6 filters, 12
// accesses of 16 bytes serve 288 multiply-adds.
// Shared memory: inputs [channels][direct_input_rows()][direct_pitch()], filters [groups of them][channels][size]
// [direct_filter_row()], outputs [direct_rows()][direct_columns].
// Preconditions: gridDim.x is direct_grid() < 2^31; planes of less than 2^31 elements; direct_smem_bytes().
template <class Row>
__global__ void __launch_bounds__(Row::config.threads, Row::config.blocks_per_sm)
    conv_direct(const float* x, const float* w, float* y, DirectShape p, Epilogue<float> epilogue) {
  constexpr Config c = Row::config;
  constexpr int S = c.size, F = c.filters, R = c.rows, V = direct_strip;
  constexpr int input_rows = direct_input_rows(c), pitch = direct_pitch(c), window = direct_window(c);
  constexpr int filter_row = direct_filter_row(c), bands = c.threads / direct_lanes;
  static_assert(V == 4, "a strip is one access of 16 bytes");
  float* image = simt::dynamic_shared<float>();
  float* filters = image + p.channels * (input_rows * pitch);
  const int filter_groups = (p.filters + F - 1) / F;
  float* strips = filters + filter_groups * p.channels * (S * filter_row);

  const simt::tile<direct_lanes> lanes;
  const int lane = static_cast<int>(threadIdx.x) % direct_lanes, band = static_cast<int>(threadIdx.x) / direct_lanes;
  unsigned column_tile = blockIdx.x;
  unsigned row_tile = p.tiles_w.divide(column_tile);
  unsigned group = p.tiles_h.divide(row_tile);
  const unsigned n = p.groups.divide(group);
  const int i0 = static_cast<int>(row_tile) * direct_rows(c), j0 = static_cast<int>(column_tile) * direct_columns;

  // ---- load: all channels' inputs, and all filters, those that are not there as zeros
  const float* plane = x + n * p.x[0] + std::int64_t{group} * p.channels * p.x[1];
  const int row_step = static_cast<int>(p.x[2]), column_step = static_cast<int>(p.x[3]);
  for (int row = band; row < p.channels * input_rows; row += bands) {
    const int channel = row / input_rows, i = i0 - p.top + row % input_rows;
    const float* from = plane + channel * p.x[1] + i * row_step;
    const bool row_inside = static_cast<unsigned>(i) < static_cast<unsigned>(p.h);
    RIDGE_UNROLL_ON_GPU
    for (int first = 0; first < pitch; first += direct_lanes) {
      const int col = first + lane, j = j0 - p.left + col;
      const bool inside = row_inside && static_cast<unsigned>(j) < static_cast<unsigned>(p.w);
      if (col < pitch) tile::copy_async<4>(image + row * pitch + col, from + j * column_step, inside ? 4 : 0);
    }
  }
  // Element e of filter f in row r of channel ch: [f / F][ch][r][e][f % F].
  for (int row = static_cast<int>(threadIdx.x); row < filter_groups * p.channels * S; row += c.threads) {
    const int r = row % S, outer = row / S, ch = outer % p.channels, first = outer / p.channels * F;
    RIDGE_KEEP_LOOP
    for (int at = 0; at < filter_row; ++at) {
      const int f = first + at % F, e = at / F;
      const bool there = f < p.filters && e < S;
      const float* from = w + (std::int64_t{group} * p.filters + f) * p.f[0] + ch * p.f[1] + r * p.f[2] + e * p.f[3];
      tile::copy_async<4>(filters + row * filter_row + at, from, there ? 4 : 0);
    }
  }
  tile::wait_for_copies();
  __syncthreads();

  RIDGE_KEEP_LOOP
  for (int first = 0; first < p.filters; first += F) {
    // ---- compute
    float sums[R][F][V] = {};
    const float* from = image + band * R * pitch + lane * V;
    const float* weights = filters + first / F * (p.channels * S * filter_row);
    RIDGE_KEEP_LOOP
    for (int ch = 0; ch < p.channels; ++ch, from += input_rows * pitch) {
      float rows[R][window];  // of inputs; row i of the tile is rows[i % R]
      const auto load_row = [&](int slot, const float* row) {
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < window; v += 4) {
          const auto unit = simt::load<4>(row + v);
          RIDGE_UNROLL_ON_GPU
          for (int e = 0; e < 4; ++e) rows[slot][v + e] = unit[e];
        }
      };
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i + 1 < R; ++i) load_row(i, from + i * pitch);
      // As many rows of a filter as bring the ring of inputs to its start, or all: the rest would not fit the
      // instruction cache next to the scheduler.
      constexpr int unrolled = S % R == 0 ? R : S;
      RIDGE_KEEP_LOOP
      for (int r0 = 0; r0 < S; r0 += unrolled, weights += unrolled * filter_row) {
        RIDGE_UNROLL_ON_GPU
        for (int r = 0; r < unrolled; ++r) {
          load_row((r + R - 1) % R, from + (r0 + r + R - 1) * pitch);
          RIDGE_UNROLL_ON_GPU
          for (int at = 0; at < filter_row; at += 4) {
            const auto unit = simt::load<4>(weights + r * filter_row + at);
            RIDGE_UNROLL_ON_GPU
            for (int q = 0; q < 4; ++q) {
              const int e = (at + q) / F, f = (at + q) % F;
              if (e >= S) continue;
              RIDGE_UNROLL_ON_GPU
              for (int i = 0; i < R; ++i) RIDGE_UNROLL_ON_GPU
              for (int v = 0; v < V; ++v) sums[i][f][v] += rows[(r + i) % R][v + e] * unit[q];
            }
          }
        }
      }
    }

    // ---- finish: a filter's strips pass through shared memory, so that lanes write neighbours. The filters take turns
    // at place 0: the epilogue's code is there once.
    RIDGE_KEEP_LOOP
    for (int f = 0; f < F && first + f < p.filters; ++f) {
      const std::int64_t k = std::int64_t{group} * p.filters + first + f;
      float* to = strips + band * R * direct_columns;
      lanes.sync();
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < R; ++i) {
        simt::vec<float, V> strip;
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) strip[v] = sums[i][0][v];
        simt::store(to + i * direct_columns + lane * V, strip);
        RIDGE_UNROLL_ON_GPU
        for (int g = 1; g < F; ++g) RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) sums[i][g - 1][v] = sums[i][g][v];
      }
      lanes.sync();
      RIDGE_KEEP_LOOP
      for (int at = lane; at < R * direct_columns; at += direct_lanes) {
        const int i = i0 + band * R + at / direct_columns, j = j0 + at % direct_columns;
        if (i < p.oh && j < p.ow) y[n * p.y[0] + k * p.y[1] + i * p.y[2] + j * p.y[3]] = epilogue(to[at], n, k, i, j);
      }
    }
  }
}

}  // namespace ridge::conv_detail
