// Contiguous nchw: several 16-byte vectors per thread, each of which may lie in several planes.
#pragma once
#include <ridge/batch_norm/apply.cuh>
#include <ridge/batch_norm/planes.cuh>

namespace ridge::batch_norm_detail {

// y[n, c, i] = its channel's function of x              x, y: [n, c, plane], contiguous. y may be x.
// A thread has Config::vectors 16-byte vectors.
// Preconditions: gridDim.x * threads * vectors covers items < 2^31 (and count < 2^31 unless whole_planes); x and y
// start on 16 bytes. Several: a plane has fewer than V elements, so that a vector has several planes; else it has at
// least V.
template <class Policy, class T, bool Several>
__global__ void __launch_bounds__(Policy::config.threads)
    apply_planes(const T* x, T* y, PlanesShape s, Parameters parameters) {
  constexpr int V = tile::vector_elements<T>, U = Policy::config.vectors, threads = Policy::config.threads;
  const unsigned item = block_number(s.backwards) * (threads * U) + threadIdx.x;
  tile::Packed in[U];
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const std::int64_t first = std::int64_t{item + u * threads} * V;
    in[u] = first + V <= s.count ? tile::load_packed(x + first) : tile::Packed{};
  }
  unsigned known = ~0u;  // the channel of `here`
  Channel here{};
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const unsigned vector = item + u * threads;
    if (vector >= s.items) break;
    unsigned position = s.whole_planes ? vector : vector * V;  // after divide(): within the plane
    unsigned channel = s.by_plane.divide(position);
    s.by_channels.divide(channel);
    if (channel != known) here = parameters(channel);
    known = channel;
    const std::int64_t first = std::int64_t{vector} * V;
    const bool whole = first + V <= s.count;
    if constexpr (Several) {
      tile::Floats<T> elements = tile::unpack_floats<T>(in[u]);
      if (!whole)
#pragma unroll
        for (int v = 0; v < V; ++v) elements[v] = first + v < s.count ? float(x[first + v]) : 0;
#pragma unroll 1
      for (int begin = 0; begin < V;) {
        const int end = min(begin + static_cast<int>(s.plane - position), V);
#pragma unroll
        for (int v = 0; v < V; ++v) elements[v] = v >= begin && v < end ? here(elements[v]) : elements[v];
        begin = end;
        position = 0;
        if (begin == V) break;
        channel = static_cast<int>(channel) + 1 < s.channels ? channel + 1 : 0;
        here = parameters(channel);
      }
      known = channel;
      if (whole) {
        put(y + first, tile::pack_floats<T>(elements), s.backwards);
      } else {
#pragma unroll
        for (int v = 0; v < V; ++v)
          if (first + v < s.count) y[first + v] = T(elements[v]);
      }
      continue;
    }
    if (whole && (s.whole_planes || position + V <= s.plane)) {
      tile::Floats<T> elements = tile::unpack_floats<T>(in[u]);
#pragma unroll
      for (int v = 0; v < V; ++v) elements[v] = here(elements[v]);
      put(y + first, tile::pack_floats<T>(elements), s.backwards);
      continue;
    }
    // The vector's elements in this plane; the others are in the next plane, or beyond the end.
    const int ours = s.whole_planes || position + V <= s.plane ? V : static_cast<int>(s.plane - position);
    Channel next = here;
    if (ours < V) next = parameters(static_cast<int>(channel) + 1 < s.channels ? channel + 1 : 0);
    if (whole) {
      tile::Floats<T> elements = tile::unpack_floats<T>(in[u]);
#pragma unroll
      for (int v = 0; v < V; ++v) {
        const Channel& of = v < ours ? here : next;
        elements[v] = of(elements[v]);
      }
      put(y + first, tile::pack_floats<T>(elements), s.backwards);
    } else {
      for (int v = 0; first + v < s.count; ++v) y[first + v] = T((v < ours ? here : next)(float(x[first + v])));
    }
  }
}

namespace apply::planes {

template <class Policy, class T> static Status launch(const ApplyCall<T>& call) {
  const BatchNormProblem& p = call.plan.problem;
  const PlanesShape s = planes_shape(p, call.backwards());
  const simt::Config at = launch_config(call);
  if (spatial(p.x) < vector_elements(p.dtype))
    return simt::launch(at, apply_planes<Policy, T, true>, call.x, call.y, s, call.parameters);
  return simt::launch(at, apply_planes<Policy, T, false>, call.x, call.y, s, call.parameters);
}

}  // namespace apply::planes
}  // namespace ridge::batch_norm_detail
