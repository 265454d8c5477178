// Contiguous channels: 16 bytes of them per thread, in several positions.
#pragma once
#include <ridge/batch_norm/apply.cuh>
#include <ridge/batch_norm/apply_channels.hpp>
#include <ridge/core/divider.hpp>

namespace ridge::batch_norm_detail {

struct ChannelsShape {
  std::int64_t positions;
  std::int64_t pitch_x, pitch_y, pitch_residual;
  unsigned items;
  Divider vectors;  // 16-byte vectors of a position
  bool aligned_parameters, backwards;
  Activation activation;
};

// y[i, c] = act(its channel's function of x + residual)  x, y, residual: [positions, c], channels contiguous
// Without Epilogue there is neither activation nor residual; with it residual may be null. y may be x or residual.
// A thread has a vector of channels, in Config::vectors positions, positions_apart from one another.
// Preconditions: gridDim.x * threads covers items < 2^31; channels_on_vectors() for all.
template <class Policy, class T, bool Epilogue>
__global__ void __launch_bounds__(Policy::config.threads)
    apply_channels(const T* x, const T* residual, T* y, ChannelsShape s, Parameters parameters) {
  constexpr int V = tile::vector_elements<T>, P = Policy::config.vectors;
  const unsigned item = block_number(s.backwards) * Policy::config.threads + threadIdx.x;
  if (item >= s.items) return;
  unsigned vector = item;
  const unsigned group = s.vectors.divide(vector);
  const std::int64_t begin = std::int64_t{group / positions_apart} * (positions_apart * P) + group % positions_apart;
  x += vector * V + begin * s.pitch_x;
  y += vector * V + begin * s.pitch_y;
  if (Epilogue && residual) residual += vector * V + begin * s.pitch_residual;
  tile::Packed in[P], added[P];
#pragma unroll
  for (int k = 0; k < P; ++k) {
    const bool exists = begin + k * positions_apart < s.positions;
    in[k] = exists ? tile::load_packed(x + k * positions_apart * s.pitch_x) : tile::Packed{};
    if constexpr (Epilogue)
      added[k] =
          exists && residual ? tile::load_packed(residual + k * positions_apart * s.pitch_residual) : tile::Packed{};
  }
  tile::grid_dependency_wait();  // for the statistics, and before y is written where it is x
  Channel channels[V];
  parameters.gather(vector * V, s.aligned_parameters, channels);
#pragma unroll
  for (int k = 0; k < P; ++k) {
    tile::Floats<T> elements = tile::unpack_floats<T>(in[k]);
#pragma unroll
    for (int v = 0; v < V; ++v) elements[v] = channels[v](elements[v]);
    if constexpr (Epilogue) finish<T>(s.activation, tile::unpack_floats<T>(added[k]).v, elements.v);
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
                        .pitch_residual = p.residual ? *position_pitch(p.of_residual) : 0,
                        .items = static_cast<unsigned>(items_of(Policy::config, p)),
                        .vectors = Divider(p.x.shape[1] / vector_elements(p.dtype)),
                        .aligned_parameters = p.aligned_parameters,
                        .backwards = call.backwards(),
                        .activation = p.options.activation};
  const auto launch = [&](auto kernel) {
    return launch_after(call.backwards(), call.plan, launch_config(call), kernel, call.x, call.residual, call.y, s,
                        call.parameters);
  };
  return has_epilogue(p) ? launch(apply_channels<Policy, T, true>) : launch(apply_channels<Policy, T, false>);
}

}  // namespace apply::channels
}  // namespace ridge::batch_norm_detail
