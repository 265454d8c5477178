// Contiguous nchw: several 16-byte vectors per thread, each of which may lie in several planes.
#pragma once
#include <ridge/batch_norm/apply.cuh>
#include <ridge/batch_norm/planes.cuh>

namespace ridge::batch_norm_detail {

// y[n, c, i] = act(its channel's function of x + residual)  x, y, residual: [n, c, plane], contiguous
// Without Epilogue there is neither activation nor residual; with it residual may be null. y may be x or residual.
// A thread has Config::vectors 16-byte vectors.
// Preconditions: gridDim.x * threads * vectors covers items < 2^31 (and count < 2^31 unless whole_planes); tensors
// start on 16 bytes. Several: a plane has fewer than V elements, so that a vector has several planes; else it has at
// least V.
template <class Policy, class T, bool Several, bool Epilogue>
__global__ void __launch_bounds__(Policy::config.threads)
    apply_planes(const T* x, const T* residual, T* y, PlanesShape s, Parameters parameters) {
  constexpr int V = tile::vector_elements<T>, U = Policy::config.vectors, threads = Policy::config.threads;
  const unsigned item = block_number(s.backwards) * (threads * U) + threadIdx.x;
  tile::Packed in[U], added[U];
#pragma unroll
  for (int u = 0; u < U; ++u) {
    const std::int64_t first = std::int64_t{item + u * threads} * V;
    const bool whole = first + V <= s.count;
    in[u] = whole ? tile::load_packed(x + first) : tile::Packed{};
    if constexpr (Epilogue) added[u] = whole && residual ? tile::load_packed(residual + first) : tile::Packed{};
  }
  tile::grid_dependency_wait();  // for the statistics, and before y is written where it is x
  unsigned known = ~0u;          // the channel of `here`
  Channel here{};
  const auto channel_after = [&](unsigned channel) {
    return static_cast<int>(channel) + 1 < s.channels ? channel + 1 : 0;
  };
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
    tile::Floats<T> elements = elements_of(x, first, s.count, in[u]);
    if constexpr (Several) {
#pragma unroll 1
      for (int begin = 0; begin < V;) {
        const int end = min(begin + static_cast<int>(s.plane - position), V);
#pragma unroll
        for (int v = 0; v < V; ++v) elements[v] = v >= begin && v < end ? here(elements[v]) : elements[v];
        begin = end;
        position = 0;
        if (begin == V) break;
        channel = channel_after(channel);
        here = parameters(channel);
      }
      known = channel;
    } else if (s.whole_planes || position + V <= s.plane) {
#pragma unroll
      for (int v = 0; v < V; ++v) elements[v] = here(elements[v]);
    } else {  // the others are in the next plane, or beyond the end
      const int ours = static_cast<int>(s.plane - position);
      const Channel next = parameters(channel_after(channel));
#pragma unroll
      for (int v = 0; v < V; ++v) elements[v] = (v < ours ? here : next)(elements[v]);
    }
    if constexpr (Epilogue)
      finish<T>(s.activation, (residual ? elements_of(residual, first, s.count, added[u]) : tile::Floats<T>{}).v,
                elements.v);
    if (first + V <= s.count) {
      put(y + first, tile::pack_floats<T>(elements), s.backwards);
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (first + v < s.count) y[first + v] = T(elements[v]);
    }
  }
}

namespace apply::planes {

template <class Policy, class T> static Status launch(const ApplyCall<T>& call) {
  const BatchNormProblem& p = call.plan.problem;
  const PlanesShape s = planes_shape(p, call.backwards());
  const bool several = spatial(p.x) < vector_elements(p.dtype);
  const auto launch = [&](auto kernel) {
    return launch_after(call.backwards(), call.plan, launch_config(call), kernel, call.x, call.residual, call.y, s,
                        call.parameters);
  };
  if (has_epilogue(p))
    return several ? launch(apply_planes<Policy, T, true, true>) : launch(apply_planes<Policy, T, false, true>);
  return several ? launch(apply_planes<Policy, T, true, false>) : launch(apply_planes<Policy, T, false, false>);
}

}  // namespace apply::planes
}  // namespace ridge::batch_norm_detail
