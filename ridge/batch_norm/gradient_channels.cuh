// dx of contiguous channels: 16 bytes of them per thread, in several positions.
#pragma once
#include <ridge/batch_norm/gradient.cuh>
#include <ridge/batch_norm/gradient_channels.hpp>

namespace ridge::batch_norm_detail {

struct GradientChannelsShape {
  std::int64_t positions;
  std::int64_t pitch_x, pitch_dz, pitch_dx, pitch_residual;
  unsigned items, rounds;
  Divider vectors;  // 16-byte vectors of a position
  bool aligned_parameters, backwards;
};

// dx[i, c] = its channel's function of dz and x         x, dz, dx, residual: [positions, c], channels contiguous
// A thread has a vector of channels, in Config::vectors positions at a time, positions_apart from one another, for some
// rounds. `dz` has dy where dz is computed, by residual if it is given.
// Preconditions: gridDim.x * threads covers items < 2^31; channels_on_vectors() for all that are read or written.
template <class Policy, class T, bool Batch, Dz How>
__global__ void __launch_bounds__(Policy::config.threads)
    gradient_channels(const T* x, const T* dz, const T* residual, T* dx, GradientChannelsShape s,
                      GradientParameters parameters) {
  constexpr int V = tile::vector_elements<T>, P = Policy::config.vectors;
  constexpr bool recomputed = How != Dz::is_dy, reads_x = Batch || recomputed;
  const unsigned item = block_number(s.backwards) * Policy::config.threads + threadIdx.x;
  if (item >= s.items) return;
  unsigned vector = item;
  const unsigned group = s.vectors.divide(vector);
  const std::int64_t positions = std::int64_t{positions_apart} * P * s.rounds;
  std::int64_t first = std::int64_t{group / positions_apart} * positions + group % positions_apart;
  const std::int64_t end = min(first + positions, s.positions);
  x += vector * V;
  dz += vector * V;
  dx += vector * V;
  if (recomputed && residual) residual += vector * V;
  tile::grid_dependency_wait();  // for the sums, and dz where it was stored
  GradientChannel<Batch, How> channels[V];
  parameters.gather(vector * V, s.aligned_parameters, channels);
#pragma unroll 1
  for (; first < end; first += positions_apart * P) {
    const auto load = [&](bool given, const T* from, int k, std::int64_t pitch) {
      const std::int64_t position = first + k * positions_apart;
      return given && position < end ? tile::load_packed(from + position * pitch) : tile::Packed{};
    };
    tile::Packed of_x[P], of_dz[P], of_residual[P];
#pragma unroll
    for (int k = 0; k < P; ++k) {
      of_dz[k] = load(true, dz, k, s.pitch_dz);
      of_x[k] = load(reads_x, x, k, s.pitch_x);
      of_residual[k] = load(recomputed && residual, residual, k, s.pitch_residual);
    }
#pragma unroll
    for (int k = 0; k < P; ++k) {
      tile::Floats<T> gradients = tile::unpack_floats<T>(of_dz[k]);
      to_dx(parameters.activation, channels, tile::unpack_floats<T>(of_x[k]).v,
            tile::unpack_floats<T>(of_residual[k]).v, gradients.v);
      const std::int64_t position = first + k * positions_apart;
      if (position < end) put(dx + position * s.pitch_dx, tile::pack_floats<T>(gradients), s.backwards);
    }
  }
}

namespace gradient::channels {

template <class Policy, class T> static Status launch(const GradientCall<T>& call) {
  const BatchNormProblem& p = call.plan.problem;
  const GradientChannelsShape s{
      .positions = per_channel(p.x),
      .pitch_x = reads_x_for_dx(p) ? *position_pitch(p.x) : 0,
      .pitch_dz = *position_pitch(read_for_dz(p)),
      .pitch_dx = *position_pitch(p.y),
      .pitch_residual = call.residual ? *position_pitch(p.of_residual) : 0,
      .items = static_cast<unsigned>(items_of(Policy::config, p, call.plan.device)),
      .rounds = static_cast<unsigned>(rounds_of(Policy::config, p, call.plan.device)),
      .vectors = Divider(p.x.shape[1] / vector_elements(p.dtype)),
      .aligned_parameters = p.aligned_parameters,
      .backwards = call.backwards(),
  };
  return launch_dx(call, s, []<bool Batch, Dz How>() { return gradient_channels<Policy, T, Batch, How>; });
}

}  // namespace gradient::channels
}  // namespace ridge::batch_norm_detail
