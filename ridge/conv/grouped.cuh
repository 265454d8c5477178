// Groups of few channels, channels innermost: a thread has contiguous channels of neighbouring outputs, and the filters
// of a block's channels stay in shared memory.
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/core/divider.hpp>

namespace ridge::conv_detail {

struct GroupedShape {
  int channels;  // of all groups, as many as filters
  int h, w, ow, top, left;
  int rows, columns;  // of filters
  int stride_h, stride_w, dilation_h, dilation_w;
  int vectors;                         // of channels, per block
  unsigned strips;                     // of Config::rows outputs of a row
  Divider of_block, of_row, of_image;  // vectors of a block; strips of a row; rows of an image
  std::int64_t x[4] = {}, y[4] = {}, f[4] = {};
};

// y = epilogue(conv(x, w)) of groups of Config::filters channels and as many filters
//                                                       x: [n, h, w, c]  y: [n, oh, ow, c]
//
// A thread's channels are one 16-byte vector of whole groups; it has their sums for Config::rows neighbouring outputs.
// For each tap it reads their inputs, which neighbouring threads' taps bring to the L1 cache, and once for all outputs
// the filters' elements [tap][channel of a group][filter] from shared memory.
// Block (b, v) has `vectors` vectors of channels from v * vectors on, and chunks b, b + gridDim.x ... of the strips; a
// chunk is threads / vectors strips. Preconditions: channels are contiguous in x and y, and pixels start on 16 bytes;
// images of less than 2^31 elements; grouped_smem_bytes().
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    conv_grouped(const T* x, const T* w, T* y, GroupedShape p, Epilogue<T> epilogue) {
  constexpr Config c = Policy::config;
  constexpr int V = grouped_vector(sizeof(T)), P = c.rows, G = c.filters;
  static_assert(V % G == 0, "a thread has whole groups");
  float* filters = simt::dynamic_shared<float>();
  const int pitch = p.vectors * V, first_filter = static_cast<int>(blockIdx.y) * pitch;  // of the block
  const int taps = p.rows * p.columns;

  // ---- load: [tap][channel of a group][filter]
  RIDGE_KEEP_LOOP
  for (int at = static_cast<int>(threadIdx.x); at < pitch * taps * G; at += c.threads) {
    const int f = at / (taps * G), rest = at % (taps * G), tap = rest / G, channel = rest % G, k = first_filter + f;
    const float value =
        k < p.channels ? float(w[k * p.f[0] + channel * p.f[1] + tap / p.columns * p.f[2] + tap % p.columns * p.f[3]])
                       : 0.0f;
    filters[(tap * G + channel) * pitch + f] = value;
  }
  __syncthreads();

  unsigned vector = threadIdx.x;
  const unsigned slot = p.of_block.divide(vector), slots = p.of_block(c.threads);
  const int k = first_filter + static_cast<int>(vector) * V;  // the thread's first filter
  if (slot >= slots || k >= p.channels) return;
  const float* own = filters + vector * V;
  const bool relu = epilogue.activation == Activation::relu;
  const bool cheap = !epilogue.residual && (relu || epilogue.activation == Activation::none);
  float bias[V];
  RIDGE_UNROLL_ON_GPU
  for (int v = 0; v < V; ++v)  // -0 changes no sum
    bias[v] = cheap && epilogue.bias ? float(epilogue.bias[(k + v) * epilogue.bias_stride]) : -0.0f;

  RIDGE_KEEP_LOOP
  for (unsigned strip = blockIdx.x * slots + slot; strip < p.strips; strip += gridDim.x * slots) {
    unsigned across = strip, i = p.of_row.divide(across);
    const unsigned n = p.of_image.divide(i);
    const int first_j = static_cast<int>(across) * P;

    // ---- compute
    float sums[P][V] = {};
    const T* image = x + n * p.x[0] + k;
    RIDGE_KEEP_LOOP
    for (int a = 0; a < p.rows; ++a) {
      const int h = static_cast<int>(i) * p.stride_h - p.top + a * p.dilation_h;
      const bool row_inside = static_cast<unsigned>(h) < static_cast<unsigned>(p.h);
      const T* row = image + h * p.x[2];  // may be outside, and is not read there
      const float* elements = own + a * p.columns * (G * pitch);
      RIDGE_KEEP_LOOP
      for (int b = 0; b < p.columns; ++b, elements += G * pitch) {
        float filter[G][V];
        RIDGE_UNROLL_ON_GPU
        for (int g = 0; g < G; ++g) RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; v += 4) {
          const auto four = simt::load<4>(elements + g * pitch + v);
          RIDGE_UNROLL_ON_GPU
          for (int e = 0; e < 4; ++e) filter[g][v + e] = four[e];
        }
        RIDGE_UNROLL_ON_GPU
        for (int e = 0; e < P; ++e) {
          const int j = (first_j + e) * p.stride_w - p.left + b * p.dilation_w;
          simt::vec<T, V> values;
          if (row_inside && static_cast<unsigned>(j) < static_cast<unsigned>(p.w)) {
            values = simt::load<V>(row + j * p.x[3]);
          } else {
            RIDGE_UNROLL_ON_GPU
            for (int v = 0; v < V; ++v) values[v] = T(0.0f);
          }
          RIDGE_UNROLL_ON_GPU
          for (int v = 0; v < V; ++v) RIDGE_UNROLL_ON_GPU
          for (int g = 0; g < G; ++g) sums[e][v] += float(values[v / G * G + g]) * filter[g][v];
        }
      }
    }

    // ---- finish
    T* to = y + n * p.y[0] + static_cast<int>(i) * p.y[2] + k;
    if (cheap) {
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e < P; ++e) {
        simt::vec<T, V> results;
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) {
          const float sum = sums[e][v] + bias[v];
          results[v] = T(relu ? tile::relu(sum) : sum);
        }
        if (first_j + e < p.ow) simt::store(to + (first_j + e) * p.y[3], results);
      }
      continue;
    }
    // Each iteration rotates the sums by one and uses element 0, so that the epilogue's code is there once.
    RIDGE_KEEP_LOOP
    for (int iteration = 0; iteration < P * V; ++iteration) {
      const int j = first_j + iteration / V, v = iteration % V;
      if (j < p.ow) to[j * p.y[3] + v] = epilogue(sums[0][0], n, k + v, i, j);
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e + 1 < P * V; ++e) sums[e / V][e % V] = sums[(e + 1) / V][(e + 1) % V];
    }
  }
}

namespace grouped {

template <int I, class T> static Status launch(const Arguments& args) {
  constexpr Config c = Policy<I>::config;
  const ConvProblem& p = args.plan.problem;
  const std::int64_t vectors = grouped_vectors(p);
  GroupedShape s{.channels = whole(p.x.shape[1]),
                 .h = whole(p.x.shape[2]),
                 .w = whole(p.x.shape[3]),
                 .ow = whole(p.y.shape[3]),
                 .top = whole(p.geometry.pad.top),
                 .left = whole(p.geometry.pad.left),
                 .rows = whole(p.w.shape[2]),
                 .columns = whole(p.w.shape[3]),
                 .stride_h = whole(p.geometry.stride.h),
                 .stride_w = whole(p.geometry.stride.w),
                 .dilation_h = whole(p.geometry.dilation.h),
                 .dilation_w = whole(p.geometry.dilation.w),
                 .vectors = whole(vectors),
                 .strips = static_cast<unsigned>(grouped_strips(c, p)),
                 .of_block = Divider(vectors),
                 .of_row = Divider(ceil_div(p.y.shape[3], c.rows)),
                 .of_image = Divider(p.y.shape[2])};
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  std::copy_n(p.w.stride.begin(), 4, s.f);
  simt::Config at = launch_config(args);
  const unsigned columns = static_cast<unsigned>(grouped_columns(p));
  at.grid = dim3(at.grid.x / columns, columns);
  return simt::launch(at, conv_grouped<Policy<I>, T>, static_cast<const T*>(args.x), static_cast<const T*>(args.w),
                      static_cast<T*>(args.y), s, epilogue_of<T>(args));
}

}  // namespace grouped
}  // namespace ridge::conv_detail
