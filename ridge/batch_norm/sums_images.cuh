// A gradient's sums of small planes: blocks per some channels, lanes along their planes, the same vector in several
// images.
#pragma once
#include <ridge/batch_norm/sums.cuh>
#include <ridge/batch_norm/sums_images.hpp>

namespace ridge::batch_norm_detail {

// Small planes: a block has V channels, whose planes are one contiguous range of an image, and a thread has the same
// vector of it in several images. The sums of each position are added in shared memory, by a warp per channel.
//                                                       x, dy, residual, dz: [n, c, h, w]
// Unless dz is dy it is computed, by residual if it is given, and stored if it is asked for.
// Preconditions: images_on_vectors() for all; a plane has s.columns <= threads elements; gridDim.x == groups * slices
// < 2^31. Shared memory: dz [levels][columns * V], dz (x - mean) the same.
template <class Policy, class T, int Warp, Dz How>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    sums_images(SumsTensors<T> t, SumsOutputs out, SumsShape s) {
  tile::launch_dependents();
  constexpr bool activated = How != Dz::is_dy;
  constexpr int threads = Policy::config.threads, loads = Policy::config.loads, V = tile::vector_elements<T>;
  float* of_dz = simt::dynamic_shared<float>();
  float* of_dzx = of_dz + threads * V;
  unsigned slice = blockIdx.x;
  const std::int64_t channel0 = std::int64_t{s.by_slices.divide(slice)} * V;
  const int plane = s.columns, levels = threads / plane,
            channels = static_cast<int>(min(s.channels - channel0, std::int64_t{V}));
  unsigned position = threadIdx.x;
  const int level = static_cast<int>(s.by_columns.divide(position)), element0 = static_cast<int>(position) * V;
  const bool exists = level < levels && element0 < channels * plane;
  const std::int64_t offset = channel0 * plane + element0;
  t.advance(offset, offset, offset, offset);

  Sums sums[V] = {};
  if (exists) {
    Channel channel[V];
#pragma unroll
    for (int v = 0; v < V; ++v) {  // that of each element
      unsigned element = static_cast<unsigned>(element0 + v);
      const std::int64_t c = channel0 + s.by_columns.divide(element);
      channel[v] = activated ? out.parameters(c) : Channel{out.parameters.mean(c, 0), 0, 0};
    }
    const unsigned step = levels * loads;
    for (unsigned first = slice * step + level; first < s.items; first += s.slices * step) {
      tile::Packed of_x[loads], of_dy[loads], of_residual[loads];
#pragma unroll
      for (int k = 0; k < loads; ++k) {
        const std::int64_t image = std::int64_t{first} + k * levels;
        if (image < s.items) {
          of_x[k] = tile::load_packed(t.x + image * s.x[0]);
          of_dy[k] = tile::load_packed(t.dy + image * s.dy[0]);
          of_residual[k] =
              activated && t.residual ? tile::load_packed(t.residual + image * s.residual[0]) : tile::Packed{};
        }
      }
#pragma unroll
      for (int k = 0; k < loads; ++k)
        if (first + k * levels < s.items) {
          const tile::Floats<T> x = tile::unpack_floats<T>(of_x[k]);
          tile::Floats<T> dz = tile::unpack_floats<T>(of_dy[k]);
          if constexpr (activated) {
            to_dz<How>(s.activation, channel, x.v, tile::unpack_floats<T>(of_residual[k]).v, dz.v);
            const std::int64_t image = std::int64_t{first} + k * levels;
            if (t.dz) tile::store_packed(t.dz + image * s.dz[0], tile::pack_floats<T>(dz));
          }
#pragma unroll
          for (int v = 0; v < V; ++v) sums[v].take(dz[v], x[v] - channel[v].mean);
        }
    }
  }
  if (level < levels) {
#pragma unroll
    for (int v = 0; v < V; ++v) {
      of_dz[(level * plane + static_cast<int>(position)) * V + v] = sums[v].dz;
      of_dzx[(level * plane + static_cast<int>(position)) * V + v] = sums[v].dzx;
    }
  }
  __syncthreads();

  const simt::tile<Warp> warp;
  for (int channel = warp.index(); channel < channels; channel += threads / Warp) {
    Sums all{};
    for (int l = 0; l < levels; ++l)
      for (int i = warp.rank(); i < plane; i += Warp) {
        const int at = (l * V + channel) * plane + i;
        all = all + Sums{of_dz[at], of_dzx[at]};
      }
    all = warp.reduce(all, [](Sums a, Sums b) { return a + b; });
    if (warp.rank() == 0) out.put(channel0 + channel, slice, s.slices, all);
  }
}

namespace sums::images {

template <class Policy, class T, int Warp> static Status launch(const SumsCall<T>& call) {
  SumsShape s = shape_of(call);
  s.by_columns = Divider(call.grid.columns);
  return launch_sums_kernel(call, Warp, s, []<Dz How>() { return sums_images<Policy, T, Warp, How>; });
}

}  // namespace sums::images
}  // namespace ridge::batch_norm_detail
