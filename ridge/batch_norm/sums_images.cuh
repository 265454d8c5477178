// A gradient's sums of small planes: blocks per some channels, lanes along their planes, the same vector in several
// images.
#pragma once
#include <ridge/batch_norm/sums.cuh>
#include <ridge/batch_norm/sums_images.hpp>

namespace ridge::batch_norm_detail {

// Small planes: a block has V channels, whose planes are one contiguous range of an image, and a thread has the same
// vector of it in several images. The sums of each position are added in shared memory, by a warp per channel.
//                                                       x, dy: [n, c, h, w]
// Preconditions: images_on_vectors() for both; a plane has s.columns <= threads elements; gridDim.x == groups * slices
// < 2^31. Shared memory: dy [levels][columns * V], dy (x - mean) the same.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    sums_images(const T* x, const T* dy, SumsOutputs out, SumsShape s) {
  constexpr int threads = Policy::config.threads, loads = Policy::config.loads, V = tile::vector_elements<T>;
  float* of_dy = simt::dynamic_shared<float>();
  float* of_dyx = of_dy + threads * V;
  unsigned slice = blockIdx.x;
  const std::int64_t channel0 = std::int64_t{s.by_slices.divide(slice)} * V;
  const int plane = s.columns, levels = threads / plane,
            channels = static_cast<int>(min(s.channels - channel0, std::int64_t{V}));
  unsigned position = threadIdx.x;
  const int level = static_cast<int>(s.by_columns.divide(position)), element0 = static_cast<int>(position) * V;
  const bool exists = level < levels && element0 < channels * plane;
  x += channel0 * plane + element0;
  dy += channel0 * plane + element0;

  Sums sums[V] = {};
  if (exists) {
    float mean[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {  // that of each element's channel
      unsigned element = static_cast<unsigned>(element0 + v);
      mean[v] = out.mean(channel0 + s.by_columns.divide(element), 0);
    }
    const unsigned step = levels * loads;
    for (unsigned first = slice * step + level; first < s.items; first += s.slices * step) {
      tile::Packed values[loads], gradients[loads];
#pragma unroll
      for (int k = 0; k < loads; ++k) {
        const std::int64_t image = std::int64_t{first} + k * levels;
        if (image < s.items) {
          values[k] = tile::load_packed(x + image * s.x[0]);
          gradients[k] = tile::load_packed(dy + image * s.dy[0]);
        }
      }
#pragma unroll
      for (int k = 0; k < loads; ++k)
        if (first + k * levels < s.items) {
          const tile::Floats<T> value = tile::unpack_floats<T>(values[k]), g = tile::unpack_floats<T>(gradients[k]);
#pragma unroll
          for (int v = 0; v < V; ++v) sums[v].take(g[v], value[v] - mean[v]);
        }
    }
  }
  if (level < levels) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      of_dy[(level * plane + static_cast<int>(position)) * V + v] = sums[v].dy;
      of_dyx[(level * plane + static_cast<int>(position)) * V + v] = sums[v].dyx;
    }
  }
  __syncthreads();

  const simt::tile<Warp> warp;
  for (int channel = warp.index(); channel < channels; channel += threads / Warp) {
    Sums all{};
    for (int l = 0; l < levels; ++l)
      for (int i = warp.rank(); i < plane; i += Warp) {
        const int at = (l * V + channel) * plane + i;
        all = all + Sums{of_dy[at], of_dyx[at]};
      }
    all = warp.reduce(all, [](Sums a, Sums b) { return a + b; });
    if (warp.rank() == 0) out.put(channel0 + channel, slice, s.slices, all);
  }
}

namespace sums::images {

template <class Policy, class T, int Warp> static Status launch(const SumsCall<T>& call) {
  SumsShape s = shape_of(call);
  s.by_columns = Divider(call.grid.columns);
  return simt::launch(launch_config(call, Warp), sums_images<Policy, T, Warp>, call.x, call.dy, call.outputs, s);
}

}  // namespace sums::images
}  // namespace ridge::batch_norm_detail
