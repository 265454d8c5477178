// Small planes: blocks per some channels, lanes along their planes, the same vector in several images.
#pragma once
#include <ridge/batch_norm/stats.cuh>
#include <ridge/batch_norm/stats_images.hpp>

namespace ridge::batch_norm_detail {

// Small planes: a block has V channels, whose planes are one contiguous range of an image, and a thread has the same
// vector of it in several images. The moments of each position are combined in shared memory, by a warp per channel.
//                                                       x: [n, c, h, w]                  partial: [c, slices]
// Preconditions: images_on_vectors(); a plane has s.columns <= threads elements; gridDim.x == groups * slices < 2^31.
// Shared memory: mean [levels][columns * V], squares the same, count [levels]. If there is one slice, the results are
// written directly.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    stats_images(const T* x, Partial* partial, Results results, StatsShape s) {
  tile::launch_dependents();
  constexpr int threads = Policy::config.threads, loads = Policy::config.loads, V = tile::vector_elements<T>;
  float* means = simt::dynamic_shared<float>();
  float *squares = means + threads * V, *counts = squares + threads * V;
  unsigned slice = blockIdx.x;
  const std::int64_t channel0 = std::int64_t{s.by_slices.divide(slice)} * V;
  const int plane = s.columns, levels = threads / plane,
            channels = static_cast<int>(min(s.channels - channel0, std::int64_t{V}));
  unsigned position = threadIdx.x;
  const int level = static_cast<int>(s.by_columns.divide(position)), element0 = static_cast<int>(position) * V;
  const bool exists = level < levels && element0 < channels * plane;
  x += channel0 * plane;

  float base[V] = {}, mean[V] = {}, square[V] = {}, count = 0;
  if (exists)
#pragma unroll
    for (int v = 0; v < V; ++v) {  // each channel's first element
      unsigned element = static_cast<unsigned>(element0 + v);
      const std::int64_t channel = s.by_columns.divide(element);
      base[v] = float(x[channel * plane]);
    }
  const unsigned step = levels * loads;
  if (exists)
    for (unsigned first = slice * step + level; first < s.items; first += s.slices * step) {
      tile::Packed in[loads];
      int there = 0;
#pragma unroll
      for (int k = 0; k < loads; ++k)
        if (first + k * levels < s.items) {
          in[k] = tile::load_packed(x + std::int64_t{first + k * levels} * s.stride[0] + element0);
          ++there;
        }
      const float share = 1 / (count + float(there));
#pragma unroll
      for (int v = 0; v < V; ++v) {
        float d[loads];
#pragma unroll
        for (int k = 0; k < loads; ++k) d[k] = k < there ? tile::unpack_floats<T>(in[k])[v] - base[v] : 0;
        extend_some(mean[v], square[v], d, there, count, share);
      }
      count += float(there);
    }
  if (level < levels) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      means[(level * plane + static_cast<int>(position)) * V + v] = mean[v];
      squares[(level * plane + static_cast<int>(position)) * V + v] = square[v];
    }
    if (position == 0) counts[level] = count;
  }
  __syncthreads();

  const simt::tile<Warp> warp;
  for (int channel = warp.index(); channel < channels; channel += threads / Warp) {
    Moments m{};
    for (int l = 0; l < levels; ++l)
      for (int i = warp.rank(); i < plane; i += Warp) {
        const int at = (l * V + channel) * plane + i;
        m = merge(m, {counts[l], means[at], squares[at]});
      }
    m = warp.reduce(m, [](Moments a, Moments b) { return merge(a, b); });
    if (warp.rank() != 0) continue;
    const float first = float(x[channel * plane]);
    if (s.slices == 1) results.write(channel0 + channel, m, first);
    else partial[(channel0 + channel) * s.slices + slice] = {m, first};
  }
}

namespace stats::images {

template <class Policy, class T, int Warp> static Status launch(const StatsCall<T>& call) {
  StatsShape s = shape_of(call);
  s.by_columns = Divider(call.grid.columns);
  return simt::launch(launch_config(call, Warp), stats_images<Policy, T, Warp>, call.x, call.partial, call.results, s);
}

}  // namespace stats::images
}  // namespace ridge::batch_norm_detail
