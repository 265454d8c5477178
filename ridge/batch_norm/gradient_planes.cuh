// dx of contiguous nchw: several 16-byte vectors per thread, each of which may lie in several planes.
#pragma once
#include <ridge/batch_norm/gradient.cuh>
#include <ridge/batch_norm/gradient_planes.hpp>
#include <ridge/batch_norm/planes.cuh>

namespace ridge::batch_norm_detail {

// dx[n, c, i] = its channel's function of dy and x      x, dy, dx: [n, c, plane], contiguous
// A thread has Config::vectors 16-byte vectors. Of one that lies in several planes, it goes from plane to plane.
// Preconditions: gridDim.x * threads * vectors covers items < 2^31 (and count < 2^31 unless whole_planes); all tensors
// that are read or written start on 16 bytes.
template <class Policy, class T, bool Batch>
__global__ void __launch_bounds__(Policy::config.threads)
    gradient_planes(const T* x, const T* dy, T* dx, PlanesShape s, GradientParameters parameters) {
  constexpr int V = tile::vector_elements<T>, U = Policy::config.vectors, threads = Policy::config.threads;
  const unsigned item = block_number(s.backwards) * (threads * U) + threadIdx.x;
  tile::Packed of_x[U], of_dy[U];
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const std::int64_t first = std::int64_t{item + u * threads} * V;
    const bool whole = first + V <= s.count;
    of_dy[u] = whole ? tile::load_packed(dy + first) : tile::Packed{};
    of_x[u] = Batch && whole ? tile::load_packed(x + first) : tile::Packed{};
  }
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const unsigned vector = item + u * threads;
    if (vector >= s.items) break;
    unsigned position = s.whole_planes ? vector : vector * V;  // after divide(): within the plane
    unsigned channel = s.by_plane.divide(position);
    s.by_channels.divide(channel);
    GradientChannel<Batch> here = parameters.channel<Batch>(channel);
    const std::int64_t first = std::int64_t{vector} * V;
    const bool whole = first + V <= s.count;
    tile::Floats<T> gradients = tile::unpack_floats<T>(of_dy[u]), values = tile::unpack_floats<T>(of_x[u]);
    if (!whole) {
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (first + v < s.count) {
          gradients[v] = float(dy[first + v]);
          if constexpr (Batch) values[v] = float(x[first + v]);
        }
    }
    if (s.whole_planes || position + V <= s.plane) {
#pragma unroll
      for (int v = 0; v < V; ++v) gradients[v] = here(gradients[v], values[v]);
    } else {
#pragma unroll 1
      for (int begin = 0; begin < V;) {
        const int end = min(begin + static_cast<int>(s.plane - position), V);
#pragma unroll
        for (int v = 0; v < V; ++v) gradients[v] = v >= begin && v < end ? here(gradients[v], values[v]) : gradients[v];
        begin = end;
        position = 0;
        if (begin == V) break;
        channel = static_cast<int>(channel) + 1 < s.channels ? channel + 1 : 0;
        here = parameters.channel<Batch>(channel);
      }
    }
    if (whole) {
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
  const PlanesShape s = planes_shape(p, call.backwards());
  const simt::Config at = launch_config(call);
  if (of_batch(p))
    return simt::launch(at, gradient_planes<Policy, T, true>, call.x, call.dy, call.dx, s, call.parameters);
  return simt::launch(at, gradient_planes<Policy, T, false>, call.x, call.dy, call.dx, s, call.parameters);
}

}  // namespace gradient::planes
}  // namespace ridge::batch_norm_detail
