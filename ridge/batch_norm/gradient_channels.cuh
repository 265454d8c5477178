// dx of contiguous channels: 16 bytes of them per thread, in several positions.
#pragma once
#include <ridge/batch_norm/gradient.cuh>
#include <ridge/batch_norm/gradient_channels.hpp>

namespace ridge::batch_norm_detail {

struct GradientChannelsShape {
  std::int64_t positions;
  std::int64_t pitch_x, pitch_dy, pitch_dx;
  unsigned items;
  Divider vectors;  // 16-byte vectors of a position
  bool aligned_parameters, backwards;
};

// dx[i, c] = its channel's function of dy and x         x, dy, dx: [positions, c], channels contiguous
// A thread has a vector of channels, in Config::vectors positions, positions_apart from one another.
// Preconditions: gridDim.x * threads covers items < 2^31; channels_on_vectors() for all that are read or written.
template <class Policy, class T, bool Batch>
__global__ void __launch_bounds__(Policy::config.threads)
    gradient_channels(const T* x, const T* dy, T* dx, GradientChannelsShape s, GradientParameters parameters) {
  constexpr int V = tile::vector_elements<T>, P = Policy::config.vectors;
  const unsigned item = block_number(s.backwards) * Policy::config.threads + threadIdx.x;
  if (item >= s.items) return;
  unsigned vector = item;
  const unsigned group = s.vectors.divide(vector);
  const std::int64_t begin = std::int64_t{group / positions_apart} * (positions_apart * P) + group % positions_apart;
  dy += vector * V + begin * s.pitch_dy;
  dx += vector * V + begin * s.pitch_dx;
  if constexpr (Batch) x += vector * V + begin * s.pitch_x;
  tile::Packed of_x[P], of_dy[P];
#pragma unroll
  for (int k = 0; k < P; ++k) {
    const bool exists = begin + k * positions_apart < s.positions;
    of_dy[k] = exists ? tile::load_packed(dy + k * positions_apart * s.pitch_dy) : tile::Packed{};
    of_x[k] = Batch && exists ? tile::load_packed(x + k * positions_apart * s.pitch_x) : tile::Packed{};
  }
  GradientChannel<Batch> channels[V];
  parameters.gather(vector * V, s.aligned_parameters, channels);
#pragma unroll
  for (int k = 0; k < P; ++k) {
    tile::Floats<T> gradients = tile::unpack_floats<T>(of_dy[k]);
    const tile::Floats<T> values = tile::unpack_floats<T>(of_x[k]);
#pragma unroll
    for (int v = 0; v < V; ++v) gradients[v] = channels[v](gradients[v], values[v]);
    if (begin + k * positions_apart < s.positions)
      put(dx + k * positions_apart * s.pitch_dx, tile::pack_floats<T>(gradients), s.backwards);
  }
}

namespace gradient::channels {

template <class Policy, class T> static Status launch(const GradientCall<T>& call) {
  const BatchNormProblem& p = call.plan.problem;
  const bool batch = of_batch(p);
  const GradientChannelsShape s{.positions = per_channel(p.x),
                                .pitch_x = batch ? *position_pitch(p.x) : 0,
                                .pitch_dy = *position_pitch(p.dy),
                                .pitch_dx = *position_pitch(p.y),
                                .items = static_cast<unsigned>(items_of(Policy::config, p)),
                                .vectors = Divider(p.x.shape[1] / vector_elements(p.dtype)),
                                .aligned_parameters = p.aligned_parameters,
                                .backwards = call.backwards()};
  const simt::Config at = launch_config(call);
  if (batch) return simt::launch(at, gradient_channels<Policy, T, true>, call.x, call.dy, call.dx, s, call.parameters);
  return simt::launch(at, gradient_channels<Policy, T, false>, call.x, call.dy, call.dx, s, call.parameters);
}

}  // namespace gradient::channels
}  // namespace ridge::batch_norm_detail
