// Groups of one channel and one filter of a fixed size, channels innermost: a row of inputs is loaded once for all the
// neighbouring outputs of a thread that it meets.
#pragma once
#include <ridge/conv/depthwise.hpp>
#include <ridge/conv/grouped.cuh>
#include <ridge/tile/packed.cuh>

namespace ridge::conv_detail {

// y = epilogue(conv(x, w)), filters of Config::size with this stride along h and w
//                                                       x: [n, h, w, c]  y: [n, oh, ow, c]
//
// As conv_grouped: a thread has a 16-byte vector of channels of Config::rows neighbouring outputs. But the inputs of a
// row that they meet are loaded together, and each is upcast once for all the taps and outputs that it meets; and a
// block's chunks of strips follow one another, so that the L1 cache still has the rows that the next output row shares.
// Preconditions: those of conv_grouped; dilation 1.
template <class Policy, int Stride, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    conv_depthwise(const T* x, const T* w, T* y, GroupedShape p, Epilogue<T> epilogue) {
  constexpr Config c = Policy::config;
  constexpr int V = grouped_vector(sizeof(T)), P = c.rows, S = c.size, N = depthwise_inputs(P, S, Stride);
  float* filters = simt::dynamic_shared<float>();
  const FilterPlaces places(p.vectors, V);
  const GroupedPlace<T> place(p, c.threads);

  // ---- load
  stage_filters<1>(filters, w, p, place.first_filter, c.threads);
  __syncthreads();
  if (!place.exists(p)) return;
  const float* own = filters + places.of_four(static_cast<int>(place.vector), 0);
  const VectorEpilogue<T> finish(epilogue, p, place.k);
  const StripsInARow strips(p, place.slot, place.slots);

  RIDGE_KEEP_LOOP
  for (unsigned strip = strips.first; strip < strips.end; strip += strips.apart) {
    unsigned across = strip, i = p.of_row.divide(across);
    const unsigned n = p.of_image.divide(i);
    const int first_j = static_cast<int>(across) * P, apart = static_cast<int>(p.x[3]),
              first_w = first_j * Stride - p.left;

    // ---- compute
    float sums[P][V] = {};
    const T* image = x + n * p.x[0] + place.k;
    RIDGE_KEEP_LOOP
    for (int a = 0; a < S; ++a) {
      const int h = static_cast<int>(i) * Stride - p.top + a;
      const bool row_inside = static_cast<unsigned>(h) < static_cast<unsigned>(p.h);
      const T* row = image + h * p.x[2] + first_w * p.x[3];  // may be outside, and is not read there
      tile::Packed inputs[N];                                // zeros outside of the image
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e < N; ++e) {
        inputs[e] = tile::Packed{};
        if (row_inside && static_cast<unsigned>(first_w + e) < static_cast<unsigned>(p.w))
          inputs[e] = tile::load_packed(row + e * apart);
      }
      float filter[S][V];
      RIDGE_UNROLL_ON_GPU
      for (int b = 0; b < S; ++b) load_filter(own + (a * S + b) * places.pitch, places, filter[b]);
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e < N; ++e) {
        const auto values = tile::unpack_floats<T>(inputs[e]);
        RIDGE_UNROLL_ON_GPU
        for (int b = e % Stride; b < S; b += Stride) {  // the taps that meet it, each with another output
          const int output = (e - b) / Stride;
          if (e < b || output >= P) continue;
          RIDGE_UNROLL_ON_GPU
          for (int v = 0; v < V; ++v) sums[output][v] += values[v] * filter[b][v];
        }
      }
    }

    finish.store(sums, y, n, static_cast<int>(i), first_j);
  }
}

namespace depthwise {

template <int I, class T> static Status launch(const Arguments& args) {
  static_assert(depthwise_most_stride == 2);
  constexpr Config c = Policy<I>::config;
  if (args.plan.problem.geometry.stride.w == 1)
    return grouped::launch_kernel<T>(args, c, conv_depthwise<Policy<I>, 1, T>);
  return grouped::launch_kernel<T>(args, c, conv_depthwise<Policy<I>, 2, T>);
}

}  // namespace depthwise
}  // namespace ridge::conv_detail
