// 8 x 4 outputs of one filter per thread, from a channel's tile of inputs with its halo in shared memory.
#pragma once
#include <ridge/conv/halo.hpp>
#include <ridge/conv/launch.cuh>
#include <ridge/tile/async_copy.cuh>

namespace ridge::conv_detail {

struct HaloShape {
  int channels;            // of a group
  int h, w, oh, ow, r, s;  // of x, y and a filter
  int top, left;           // of the padding
  int input_rows, pitch;   // of a stage's inputs
  int tap_pitch;           // of its taps
  int stage_floats;        // from a stage to the next
  Divider filters, filters_of_group, tiles_w, tiles_h;
  std::int64_t x[4] = {}, y[4] = {}, f[4] = {};
  bool vectors = false;  // rows of x are whole 16-byte vectors, each inside or outside of the image as a whole
};

// y = epilogue(conv(x, w)), stride and dilation 1      x: [n, c, h, w]  w: [k, c / groups, r, s]  y: [n, k, oh, ow]
//
// A block computes halo_rows() x halo_columns outputs of one filter. The inputs that these meet, and r - 1 rows and
// s - 1 columns around them (the halo), are copied to shared memory channel by channel, and each is read from there by
// all of its r x s products. A thread has Config::rows rows of halo_strips x halo_strip outputs. Each row of inputs is
// read once for all rows of outputs that it meets: with filters of up to four columns, 4 accesses of 16 bytes for four
// rows of eight outputs.
// With Config::stages above 1, a stage's copies are under way while the stage before it is computed.
// Shared memory: stages of inputs [input_rows][pitch] and taps [r][tap_pitch]; in the end, of outputs
// [halo_rows()][halo_columns].
// Preconditions: gridDim.x is halo_grid() < 2^31; planes of less than 2^31 elements; halo_smem_bytes().
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    conv_halo(const float* x, const float* w, float* y, HaloShape p, Epilogue<float> epilogue) {
  constexpr Config c = Policy::config;
  constexpr int R = c.rows, V = halo_strip, strips = halo_strips, stages = c.stages, tile_rows = halo_rows(c);
  constexpr int copy_lanes = 32, copy_rows = c.threads / copy_lanes;  // a warp copies a row
  static_assert(V == 4, "a strip is one access of 16 bytes");
  float* shared = simt::dynamic_shared<float>();
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % halo_lanes, first_row = thread / halo_lanes * R;  // of the thread's outputs, in the tile

  // Filters run fastest: blocks that read the same inputs are side by side, and the L2 cache serves all but the first.
  unsigned filter = blockIdx.x;
  unsigned column_tile = p.filters.divide(filter);
  unsigned row_tile = p.tiles_w.divide(column_tile);
  const unsigned n = p.tiles_h.divide(row_tile);
  const int i0 = static_cast<int>(row_tile) * tile_rows, j0 = static_cast<int>(column_tile) * halo_columns;
  x += n * p.x[0] + std::int64_t{p.filters_of_group(filter)} * p.channels * p.x[1];  // [channels, h, w]
  w += filter * p.f[0];                                                              // [channels, r, s]
  y += n * p.y[0] + filter * p.y[1];                                                 // [oh, ow]

  // ---- load: x[channel, i0 - top .., j0 - left ..] -> inputs, w[channel] -> taps, with zeros for those outside
  const auto load_vectors = [&]<int Floats>(int channel) {       // Floats: of one access of x
    float* inputs = shared + channel % stages * p.stage_floats;  // [input_rows][pitch]
    float* taps = inputs + p.input_rows * p.pitch;               // [r][tap_pitch]
    RIDGE_KEEP_LOOP
    for (int row = thread / copy_lanes; row < p.input_rows; row += copy_rows) {
      const int i = i0 - p.top + row;
      const bool row_inside = static_cast<unsigned>(i) < static_cast<unsigned>(p.h);
      const float* from = x + channel * p.x[1] + i * p.x[2];  // [w]
      RIDGE_KEEP_LOOP
      for (int column = thread % copy_lanes * Floats; column < p.pitch; column += copy_lanes * Floats) {
        const int j = j0 - p.left + column;
        const bool inside = row_inside && static_cast<unsigned>(j) < static_cast<unsigned>(p.w);
        tile::copy_async<Floats * 4>(inputs + row * p.pitch + column, from + j * p.x[3], inside ? Floats * 4 : 0);
      }
    }
    RIDGE_KEEP_LOOP
    for (int a = thread / copy_lanes; a < p.r; a += copy_rows) {
      const float* from = w + channel * p.f[1] + a * p.f[2];  // [s]
      RIDGE_KEEP_LOOP
      for (int b = thread % copy_lanes; b < p.tap_pitch; b += copy_lanes)
        tile::copy_async<4>(taps + a * p.tap_pitch + b, from + b * p.f[3], b < p.s ? 4 : 0);
    }
  };

  const auto load = [&](int channel) {
    if (p.vectors) load_vectors.template operator()<4>(channel);
    else load_vectors.template operator()<1>(channel);
  };

  // ---- compute: sums += a stage's inputs times its taps
  float sums[R][strips][V] = {};
  const auto multiply = [&](int channel) {
    const float* from = shared + channel % stages * p.stage_floats + first_row * p.pitch + lane * V;  // [R + r - 1][..]
    const float* taps = shared + channel % stages * p.stage_floats + p.input_rows * p.pitch;          // [r][tap_pitch]
    // Row `row` of the thread's inputs meets its row i of outputs through row `row - i` of the filter.
    RIDGE_KEEP_LOOP
    for (int row = 0; row < R + p.r - 1; ++row, from += p.pitch) {
      float window[strips][2 * V];  // inputs: those that a strip meets through V taps of a row, and one more
      const auto load_half = [&](int half, const float* columns) {
        RIDGE_UNROLL_ON_GPU
        for (int strip = 0; strip < strips; ++strip) {
          const auto vector = simt::load<V>(columns + strip * halo_half);
          RIDGE_UNROLL_ON_GPU
          for (int v = 0; v < V; ++v) window[strip][half * V + v] = vector[v];
        }
      };
      load_half(0, from);
      RIDGE_KEEP_LOOP
      for (int first = 0; first < p.s; first += V) {  // taps first to first + V - 1 of the row
        load_half(1, from + first + V);
        RIDGE_UNROLL_ON_GPU
        for (int i = 0; i < R; ++i) {
          const int a = row - i;
          if (a < 0 || a >= p.r) continue;
          const auto tap = simt::load<V>(taps + a * p.tap_pitch + first);  // the same address in all lanes: a broadcast
          RIDGE_UNROLL_ON_GPU
          for (int e = 0; e < V; ++e) {
            if (first + e >= p.s) continue;  // no tap: a zero times an infinity would be a term
            RIDGE_UNROLL_ON_GPU
            for (int strip = 0; strip < strips; ++strip) RIDGE_UNROLL_ON_GPU
            for (int v = 0; v < V; ++v) sums[i][strip][v] += window[strip][v + e] * tap[e];
          }
        }
        RIDGE_UNROLL_ON_GPU
        for (int strip = 0; strip < strips; ++strip) RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) window[strip][v] = window[strip][V + v];
      }
    }
  };

  // The copies of `stages - 1` channels are under way while one is computed: none with one stage, where the copies of a
  // channel are waited for at once.
  RIDGE_KEEP_LOOP
  for (int channel = 0; channel < stages - 1; ++channel) {
    if (channel < p.channels) load(channel);
    tile::commit_copies();
  }
  RIDGE_KEEP_LOOP
  for (int channel = 0; channel < p.channels; ++channel) {
    if (const int ahead = channel + stages - 1; ahead < p.channels) load(ahead);
    tile::commit_copies();  // of nothing after the last channel, so that the count of groups stays right
    tile::wait_copies<stages - 1>();
    __syncthreads();  // all threads' copies of this channel are there
    multiply(channel);
    __syncthreads();  // and read: the next copies, or the outputs, take their place
  }

  // ---- finish: outputs pass through shared memory, so that lanes write neighbouring columns whatever y's alignment
  RIDGE_UNROLL_ON_GPU
  for (int i = 0; i < R; ++i) RIDGE_UNROLL_ON_GPU
  for (int strip = 0; strip < strips; ++strip) {
    simt::vec<float, V> vector;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) vector[v] = sums[i][strip][v];
    simt::store(shared + (first_row + i) * halo_columns + strip * halo_half + lane * V, vector);  // [rows][columns]
  }
  __syncthreads();
  const int column = thread % halo_columns, j = j0 + column;
  if (j >= p.ow) return;
  RIDGE_KEEP_LOOP
  for (int row = thread / halo_columns; row < tile_rows && i0 + row < p.oh; row += c.threads / halo_columns)
    y[(i0 + row) * p.y[2] + j * p.y[3]] = epilogue(shared[row * halo_columns + column], n, filter, i0 + row, j);
}

namespace halo {

template <int I> static Status launch(const Arguments& args) {
  constexpr Config c = Policy<I>::config;
  static_assert(c.threads % halo_columns == 0, "each thread writes outputs of one column");
  const ConvProblem& p = args.plan.problem;
  const std::int64_t r = p.w.shape[2], s = p.w.shape[3];
  HaloShape shape{.channels = whole(channels_of_group(p)),
                  .h = whole(p.x.shape[2]),
                  .w = whole(p.x.shape[3]),
                  .oh = whole(p.y.shape[2]),
                  .ow = whole(p.y.shape[3]),
                  .r = whole(r),
                  .s = whole(s),
                  .top = whole(p.geometry.pad.top),
                  .left = whole(p.geometry.pad.left),
                  .input_rows = whole(halo_input_rows(c, r)),
                  .pitch = whole(halo_pitch(s)),
                  .tap_pitch = whole(halo_tap_pitch(s)),
                  .stage_floats = whole(halo_stage_bytes(c, r, s)) / static_cast<int>(sizeof(float)),
                  .filters = Divider(p.y.shape[1]),
                  .filters_of_group = Divider(filters_of_group(p)),
                  .tiles_w = Divider(ceil_div(p.y.shape[3], halo_columns)),
                  .tiles_h = Divider(ceil_div(p.y.shape[2], halo_rows(c)))};
  std::copy_n(p.x.stride.begin(), 4, shape.x);
  std::copy_n(p.y.stride.begin(), 4, shape.y);
  std::copy_n(p.w.stride.begin(), 4, shape.f);
  shape.vectors = has_vectors<4>(p.x, args.x) && p.geometry.pad.left % 4 == 0;
  return simt::launch(launch_config(args), conv_halo<Policy<I>>, static_cast<const float*>(args.x),
                      static_cast<const float*>(args.w), static_cast<float*>(args.y), shape, epilogue_of<float>(args));
}

}  // namespace halo
}  // namespace ridge::conv_detail
