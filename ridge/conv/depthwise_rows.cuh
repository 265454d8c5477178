// Depthwise filters down the rows (depthwise_rows.hpp).
#pragma once
#include <ridge/conv/depthwise_rows.hpp>
#include <ridge/conv/launch.cuh>
#include <ridge/core/divider.hpp>
#include <ridge/tile/activate_many.cuh>
#include <ridge/tile/async_copy.cuh>
#include <ridge/tile/packed.cuh>

namespace ridge::conv_detail {

struct DepthwiseRowsShape {
  int channels, h, w, oh, ow, top, left;
  int pairs;                           // of channels, per block
  int rows;                            // of outputs of a piece
  unsigned pieces;                     // of all images
  int ring_at;                         // bytes from the beginning of the shared memory
  Divider of_block, of_row, of_image;  // pairs of a block; pieces of a row; rows of pieces of an image
  std::int64_t x[4] = {}, y[4] = {}, f[4] = {};
};

// The end of a row of a thread's sums.
template <class T, int P> struct PairEpilogue {
  const Epilogue<T>& epilogue;
  int k;
  float bias[row_channels];

  __device__ __forceinline__ PairEpilogue(const Epilogue<T>& e, int first) : epilogue(e), k(first) {
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < row_channels; ++v)  // -0 changes no sum
      bias[v] = e.bias ? float(e.bias[(k + v) * e.bias_stride]) : -0.0f;
  }

  // Stores `count` of P neighbouring outputs from (n, k, i, j) on. to: the first one's place, `apart` elements from the
  // next's. Changes the sums.
  __device__ __forceinline__ void store(float (&sums)[P][row_channels], T* to, std::int64_t apart, int count,
                                        unsigned n, int i, int j) const {
    float outputs[P * row_channels], addends[P * row_channels] = {};
    RIDGE_UNROLL_ON_GPU
    for (int o = 0; o < P * row_channels; ++o)
      outputs[o] = sums[o / row_channels][o % row_channels] + bias[o % row_channels];
    const auto add = [&] {
      RIDGE_UNROLL_ON_GPU
      for (int o = 0; o < P * row_channels; ++o) outputs[o] += addends[o];
    };
    if (epilogue.residual) {
      const std::int64_t* at = epilogue.residual_strides;
      const T* from = epilogue.residual + n * at[0] + k * at[1] + i * at[2] + j * at[3];
      RIDGE_UNROLL_ON_GPU
      for (int o = 0; o < P * row_channels; ++o)
        if (o / row_channels < count) addends[o] = float(from[o / row_channels * at[3] + o % row_channels * at[1]]);
      if (epilogue.residual_first) add();
    }
    if (epilogue.activation != Activation::none) tile::activate_many<T>(epilogue.activation, outputs);
    if (epilogue.residual && !epilogue.residual_first) add();
    RIDGE_UNROLL_ON_GPU
    for (int o = 0; o < P; ++o)
      if (o < count) simt::store_global(to + o * apart, rounded(outputs[2 * o], outputs[2 * o + 1]));
  }

 private:
  __device__ __forceinline__ static simt::vec<T, row_channels> rounded(float first, float second) {
    simt::vec<T, row_channels> pair;
    if constexpr (tile::has_pairs<T>) {
      const unsigned word = tile::pack_pair<T>(first, second);
      memcpy(&pair, &word, sizeof pair);
    } else {
      pair[0] = first, pair[1] = second;
    }
    return pair;
  }
};

// y = epilogue(conv(x, w)), filters of Config::size with this stride along h and w
//                                                       x: [n, h, w, c]  y: [n, oh, ow, c]
//
// A thread has two channels of a piece: Config::rows neighbouring columns of p.rows rows of outputs. It goes down the
// rows; a step begins a row of outputs, takes the inputs that it meets first, `Stride` rows of them, and ends the row
// of outputs that meets no more of them. Rows of inputs are copied to the thread's ring some rows ahead.
// Zeros outside of the image are multiplied where a filter is not finite; elsewhere they change no sum.
// Block (b, v) has the pairs of channels from v * pairs on. Preconditions: fits(); smem_bytes().
template <class Policy, int Stride, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    conv_depthwise_rows(const T* x, const T* w, T* y, const __grid_constant__ DepthwiseRowsShape p,
                        Epilogue<T> epilogue) {
  constexpr Config c = Policy::config;
  constexpr int S = c.size, P = c.rows, N = depthwise_inputs(P, S, Stride), V = row_channels,
                live = depthwise_live_rows(S, Stride);
  constexpr bool keeps = depthwise_rows::keeps_filters(c);
  using Pair = simt::vec<T, V>;

  // ---- this thread's channels and piece
  unsigned pair = threadIdx.x;
  const unsigned slot = p.of_block.divide(pair), slots = p.of_block(static_cast<unsigned>(c.threads));
  const int k = (static_cast<int>(blockIdx.y) * p.pairs + static_cast<int>(pair)) * V;
  const bool has_channels = slot < slots && k < p.channels;

  // ---- filters: [taps][two channels] in registers, or [taps][pairs][two channels] in shared memory
  float kept[keeps ? S * S : 1][V];
  float* const own = simt::dynamic_shared<float>() + pair * V;
  const auto filter_at = [&](int tap, int v) {
    return float(w[(k + v) * p.f[0] + tap / S * p.f[2] + tap % S * p.f[3]]);
  };
  float not_finite = 0;  // or NaN
  if constexpr (keeps) {
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < S * S * V; ++e) {
      const float element = has_channels ? filter_at(e / V, e % V) : 0;
      kept[e / V][e % V] = element;
      not_finite += element * 0;
    }
  } else {
    if (has_channels)  // all slots copy a share of the taps
      for (int tap = static_cast<int>(slot); tap < S * S; tap += static_cast<int>(slots))
        simt::store(own + tap * p.pairs * V, simt::vec<float, V>{filter_at(tap, 0), filter_at(tap, 1)});
    __syncthreads();
    RIDGE_KEEP_LOOP
    for (int tap = 0; has_channels && tap < S * S; ++tap) {
      const auto both = simt::load<V>(static_cast<const float*>(own) + tap * p.pairs * V);
      not_finite += both[0] * 0 + both[1] * 0;
    }
  }
  const bool multiplies_zeros = not_finite != 0;  // NaN is not 0
  unsigned piece = blockIdx.x * slots + slot;
  if (!has_channels || piece >= p.pieces) return;

  unsigned row_of_pieces = p.of_row.divide(piece);
  const unsigned n = p.of_image.divide(row_of_pieces);
  const int first_i = static_cast<int>(row_of_pieces) * p.rows, first_j = static_cast<int>(piece) * P;
  const int rows = ::min(p.rows, p.oh - first_i), count = ::min(P, p.ow - first_j);
  const int first_w = first_j * Stride - p.left;
  const T* image = x + n * p.x[0] + k;
  T* out = y + n * p.y[0] + first_i * p.y[2] + first_j * p.y[3] + k;
  const PairEpilogue<T, P> finish(epilogue, k);

  // ---- compute
  const auto is_inside = [&](int h) { return static_cast<unsigned>(h) < static_cast<unsigned>(p.h); };
  // [ring_rows][N][threads]
  T* const ring = reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(simt::dynamic_shared<float>()) + p.ring_at) +
                  threadIdx.x * V;
  constexpr int ring_row = N * c.threads * V, ahead = depthwise_rows::ring_rows - 1;
  const int first_h = first_i * Stride - p.top, needed = (rows - 1) * Stride + S;  // rows of inputs
  const T* const first = image + first_w * p.x[3];  // may be outside, and is not read there
  const auto copy = [&](int row) {
    const int h = first_h + row;
    const bool inside = row < needed && is_inside(h);
    const T* from = first + h * p.x[2];
    T* to = ring + row % depthwise_rows::ring_rows * ring_row;
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < N; ++e, from += p.x[3]) {
      const bool there = inside && static_cast<unsigned>(first_w + e) < static_cast<unsigned>(p.w);
      tile::copy_async<sizeof(Pair)>(to + e * c.threads * V, from, there ? int{sizeof(Pair)} : 0);
    }
    tile::commit_copies();
  };
  float sums[live][P][V] = {};  // of the row of outputs that this step begins, and of those before it
  RIDGE_KEEP_LOOP
  for (int row = 0; row < ahead; ++row) copy(row);
  int row = 0;
  RIDGE_KEEP_LOOP
  for (int step = 0; step < rows + live - 1; ++step) {
    RIDGE_UNROLL_ON_GPU
    for (int d = 0; d < Stride; ++d, ++row) {
      copy(row + ahead);
      if (!is_inside(first_h + row) && !multiplies_zeros) continue;
      tile::wait_copies<ahead>();
      const T* inputs = ring + row % depthwise_rows::ring_rows * ring_row;
      float values[N][V];
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e < N; ++e) tile::to_floats<T, V>(simt::load<V>(inputs + e * c.threads * V), values[e]);
      RIDGE_UNROLL_ON_GPU
      for (int o = 0; o < live; ++o) {  // the row of outputs that began `o` steps ago
        const int a = d + o * Stride;
        if (a >= S) continue;
        RIDGE_UNROLL_ON_GPU
        for (int b = 0; b < S; ++b) {
          float filter[V];
          if constexpr (keeps) {
            RIDGE_UNROLL_ON_GPU
            for (int v = 0; v < V; ++v) filter[v] = kept[a * S + b][v];
          } else {
            const auto both = simt::load<V>(static_cast<const float*>(own) + (a * S + b) * p.pairs * V);
            RIDGE_UNROLL_ON_GPU
            for (int v = 0; v < V; ++v) filter[v] = both[v];
          }
          RIDGE_UNROLL_ON_GPU
          for (int j = 0; j < P; ++j) RIDGE_UNROLL_ON_GPU
          for (int v = 0; v < V; ++v) sums[o][j][v] += values[j * Stride + b][v] * filter[v];
        }
      }
    }
    if (step >= live - 1) {
      finish.store(sums[live - 1], out, p.y[3], count, n, first_i + step - (live - 1), first_j);
      out += p.y[2];
    }
    RIDGE_UNROLL_ON_GPU
    for (int o = live - 1; o > 0; --o) RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < P; ++j) RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) sums[o][j][v] = sums[o - 1][j][v];
    RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < P; ++j) RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) sums[0][j][v] = 0;
  }
}

// ---- launch

namespace depthwise_rows {

template <int I, class T> static Status launch(const Arguments& args) {
  static_assert(depthwise_most_stride == 2);
  constexpr Config c = Policy<I>::config;
  const ConvProblem& p = args.plan.problem;
  const Cut cut = best_cut(c, p, args.plan.device);
  DepthwiseRowsShape s{.channels = whole(p.x.shape[1]),
                       .h = whole(p.x.shape[2]),
                       .w = whole(p.x.shape[3]),
                       .oh = whole(p.y.shape[2]),
                       .ow = whole(p.y.shape[3]),
                       .top = whole(p.geometry.pad.top),
                       .left = whole(p.geometry.pad.left),
                       .pairs = whole(pairs_of_block(p)),
                       .rows = whole(cut.rows),
                       .pieces = static_cast<unsigned>(p.y.shape[0] * cut.down * cut.across),
                       .ring_at = whole(filter_bytes(c, p)),
                       .of_block = Divider(pairs_of_block(p)),
                       .of_row = Divider(cut.across),
                       .of_image = Divider(cut.down)};
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  std::copy_n(p.w.stride.begin(), 4, s.f);
  simt::Config at = launch_config(args);
  const unsigned columns = static_cast<unsigned>(block_columns(p));
  at.grid = dim3(at.grid.x / columns, columns);
  const auto run = [&](auto kernel) {
    return simt::launch(at, kernel, static_cast<const T*>(args.x), static_cast<const T*>(args.w),
                        static_cast<T*>(args.y), s, epilogue_of<T>(args));
  };
  if (p.geometry.stride.w == 1) return run(conv_depthwise_rows<Policy<I>, 1, T>);
  return run(conv_depthwise_rows<Policy<I>, 2, T>);
}

}  // namespace depthwise_rows
}  // namespace ridge::conv_detail
