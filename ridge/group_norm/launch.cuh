// What launches share: a run's typed arguments, and configurations. Functions are static: the .cu files are compiled
// twice, for the CPU runtime and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/group_norm/families.hpp>
#include <ridge/group_norm/launch.hpp>
#include <ridge/group_norm/statistics.cuh>
#include <ridge/simt/launch.hpp>
#include <ridge/tile/dependent_launch.cuh>

#include <cstddef>

namespace ridge::group_norm_detail {

template <class T> struct Call {
  const GroupNormPlan& plan;
  const Operands& operands;
  Stream stream;
  const T *x, *dy;
  T* y;
  Parameters parameters;

  Partial* partials() const { return static_cast<Partial*>(operands.workspace); }
  float* sums(const SumsPlan& of) const {
    return reinterpret_cast<float*>(static_cast<std::byte*>(operands.workspace) + of.sums_at);
  }
  simt::Config config(std::int64_t grid, int threads, std::int64_t smem, int warp) const {
    return {.grid = dim3(static_cast<unsigned>(grid)),
            .block = dim3(static_cast<unsigned>(threads)),
            .smem = static_cast<std::size_t>(smem),
            .stream = stream.handle,
            .warp = warp};
  }
};

[[maybe_unused]] static tile::ChannelParameter parameter_of(const TensorView* view) {
  return view ? tile::ChannelParameter{view->data, view->stride(0), view->dtype} : tile::ChannelParameter{};
}

template <class T> static Call<T> call_of(const GroupNormPlan& plan, const Operands& o, Stream stream) {
  const GroupNormProblem& p = plan.problem;
  return {.plan = plan,
          .operands = o,
          .stream = stream,
          .x = static_cast<const T*>(o.x),
          .dy = static_cast<const T*>(o.dy),
          .y = static_cast<T*>(o.y),
          .parameters = {.gamma = parameter_of(o.gamma),
                         .beta = parameter_of(o.beta),
                         .aligned = p.aligned_parameters,
                         .eps = p.options.eps,
                         .activation = p.options.activation}};
}

}  // namespace ridge::group_norm_detail
