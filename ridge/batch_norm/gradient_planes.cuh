// dx of contiguous nchw: several 16-byte vectors per thread, each of which may lie in several planes.
#pragma once
#include <ridge/batch_norm/gradient.cuh>
#include <ridge/batch_norm/gradient_planes.hpp>
#include <ridge/batch_norm/planes.cuh>

namespace ridge::batch_norm_detail {

// dx[n, c, i] = its channel's function of dz and x      x, dz, dx, residual: [n, c, plane], contiguous
// A thread has Config::vectors 16-byte vectors. Of one that lies in several planes, it goes from plane to plane.
// `dz` has dy where dz is computed, by residual if it is given.
// Preconditions: gridDim.x * threads * vectors covers items < 2^31 (and count < 2^31 unless whole_planes); all tensors
// that are read or written start on 16 bytes.
template <class Policy, class T, bool Batch, Dz How>
__global__ void __launch_bounds__(Policy::config.threads)
    gradient_planes(const T* x, const T* dz, const T* residual, T* dx, PlanesShape s, GradientParameters parameters) {
  constexpr int V = tile::vector_elements<T>, U = Policy::config.vectors, threads = Policy::config.threads;
  constexpr bool recomputed = How != Dz::is_dy, reads_x = Batch || recomputed;
  using Of = GradientChannel<Batch, How>;
  tile::grid_dependency_wait();  // for the sums, and dz where it was stored
  const unsigned item = block_number(s.backwards) * (threads * U) + threadIdx.x;
  tile::Packed of_x[U], of_dz[U], of_residual[U];
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const std::int64_t first = std::int64_t{item + u * threads} * V;
    const bool whole = first + V <= s.count;
    of_dz[u] = whole ? tile::load_packed(dz + first) : tile::Packed{};
    of_x[u] = reads_x && whole ? tile::load_packed(x + first) : tile::Packed{};
    of_residual[u] = recomputed && residual && whole ? tile::load_packed(residual + first) : tile::Packed{};
  }
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const unsigned vector = item + u * threads;
    if (vector >= s.items) break;
    unsigned position = s.whole_planes ? vector : vector * V;  // after divide(): within the plane
    unsigned channel = s.by_plane.divide(position);
    s.by_channels.divide(channel);
    Of here[1];
    parameters.channel(channel, here[0]);
    const std::int64_t first = std::int64_t{vector} * V;
    tile::Floats<T> gradients = elements_of(dz, first, s.count, of_dz[u]), values = {}, added = {};
    if constexpr (reads_x) values = elements_of(x, first, s.count, of_x[u]);
    if (recomputed && residual) added = elements_of(residual, first, s.count, of_residual[u]);
    if (s.whole_planes || position + V <= s.plane) {
      to_dx(parameters.activation, here, values.v, added.v, gradients.v);
    } else {
#pragma unroll 1
      for (int begin = 0; begin < V;) {
        const int end = min(begin + static_cast<int>(s.plane - position), V);
        tile::Floats<T> of_plane = gradients;
        to_dx(parameters.activation, here, values.v, added.v, of_plane.v);
#pragma unroll
        for (int v = 0; v < V; ++v) gradients[v] = v >= begin && v < end ? of_plane[v] : gradients[v];
        begin = end;
        position = 0;
        if (begin == V) break;
        channel = static_cast<int>(channel) + 1 < s.channels ? channel + 1 : 0;
        parameters.channel(channel, here[0]);
      }
    }
    if (first + V <= s.count) {
      put(dx + first, tile::pack_floats<T>(gradients), s.backwards);
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (first + v < s.count) dx[first + v] = T(gradients[v]);
    }
  }
}

namespace gradient::planes {

template <class Policy, class T> static Status launch(const GradientCall<T>& call) {
  const BatchNormProblem& p = call.plan.problem;
  return launch_dx(call, planes_shape(p, call.backwards()),
                   []<bool Batch, Dz How>() { return gradient_planes<Policy, T, Batch, How>; });
}

}  // namespace gradient::planes
}  // namespace ridge::batch_norm_detail
