// Contiguous channels: 16 bytes of them per thread, in several positions.
#pragma once
#include <ridge/batch_norm/apply.cuh>
#include <ridge/batch_norm/apply_channels.hpp>
#include <ridge/core/divider.hpp>

namespace ridge::batch_norm_detail {

struct ChannelsShape {
  std::int64_t positions;
  std::int64_t pitch_x, pitch_y;
  unsigned items;
  Divider vectors;  // 16-byte vectors of a position
  bool aligned_parameters, backwards;
};

// y[i, c] = its channel's function of x                 x, y: [positions, c], channels contiguous. y may be x.
// A thread has a vector of channels, in Config::vectors positions, positions_apart from one another.
// Preconditions: gridDim.x * threads covers items < 2^31; channels_on_vectors() for both.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    apply_channels(const T* x, T* y, ChannelsShape s, Parameters parameters) {
  constexpr int V = tile::vector_elements<T>, P = Policy::config.vectors;
  const unsigned item = block_number(s.backwards) * Policy::config.threads + threadIdx.x;
  if (item >= s.items) return;
  unsigned vector = item;
  const unsigned group = s.vectors.divide(vector);
  const std::int64_t begin = std::int64_t{group / positions_apart} * (positions_apart * P) + group % positions_apart;
  x += vector * V + begin * s.pitch_x;
  y += vector * V + begin * s.pitch_y;
  tile::Packed in[P];
#pragma unroll
  for (int k = 0; k < P; ++k)
    in[k] = begin + k * positions_apart < s.positions ? tile::load_packed(x + k * positions_apart * s.pitch_x)
                                                      : tile::Packed{};
  Channel channels[V];
  parameters.gather(vector * V, s.aligned_parameters, channels);
#pragma unroll
  for (int k = 0; k < P; ++k) {
    tile::Floats<T> elements = tile::unpack_floats<T>(in[k]);
#pragma unroll
    for (int v = 0; v < V; ++v) elements[v] = channels[v](elements[v]);
    if (begin + k * positions_apart < s.positions)
      put(y + k * positions_apart * s.pitch_y, tile::pack_floats<T>(elements), s.backwards);
  }
}

namespace apply::channels {

template <class Policy, class T> static Status launch(const ApplyCall<T>& call) {
  const BatchNormProblem& p = call.plan.problem;
  const ChannelsShape s{.positions = per_channel(p.x),
                        .pitch_x = *position_pitch(p.x),
                        .pitch_y = *position_pitch(p.y),
                        .items = static_cast<unsigned>(items_of(Policy::config, p)),
                        .vectors = Divider(p.x.shape[1] / vector_elements(p.dtype)),
                        .aligned_parameters = p.aligned_parameters,
                        .backwards = call.backwards()};
  return simt::launch(launch_config(call), apply_channels<Policy, T>, call.x, call.y, s, call.parameters);
}

}  // namespace apply::channels
}  // namespace ridge::batch_norm_detail
