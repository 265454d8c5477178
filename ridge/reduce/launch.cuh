// The arguments of a variant's launch, and its configuration from the plan. Functions are static: the files that
// include this are compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/reduce/families.hpp>
#include <ridge/reduce/functions.cuh>
#include <ridge/reduce/input.cuh>
#include <ridge/reduce/launch.hpp>
#include <ridge/simt/launch.hpp>

namespace ridge::reduce_detail {

// The part of a variant that these kernels depend on: variants of the same shape share a kernel.
template <int Threads, int Lanes, int AccessBytes, int Vectors, int BlocksPerSm> struct Shape {
  static constexpr int threads = Threads, row_threads = Lanes ? Lanes : Threads, vectors = Vectors,
                       blocks_per_sm = BlocksPerSm;
  template <class T> static constexpr int elements = AccessBytes > int(sizeof(T)) ? AccessBytes / int(sizeof(T)) : 1;
  template <class T> static constexpr int in_columns = column_vectors(Vectors, sizeof(T));
};

template <class P>
using ShapeOf =
    Shape<P::config.threads, P::config.lanes, P::config.access_bytes, P::config.vectors, P::config.blocks_per_sm>;

// One of the functions that R computes, for config_of().
template <class R>
inline constexpr Reduce function_of = R::inputs == 2 ? Reduce::dot
                                      : R::locates   ? Reduce::argmax
                                                     : Reduce::sum;

template <class R> struct Call {
  const Arguments& args;
  Input<typename R::Element> in;
  typename R::Output* y;
  typename R::Partial* partials;
  Finish finish;
};

template <class R> static Tiling tiling_of(const Arguments& args) {
  const ReducePlan& plan = args.plan;
  const Config c = config_of(variants[plan.variant].config, plan.problem.function);
  return partition_of(c).tiling(c, plan.extent, sizeof(typename R::Element));
}
template <class R> static Tiling tiling_of(const Call<R>& call) { return tiling_of<R>(call.args); }

template <class R> static Call<R> call_of(const Arguments& args) {
  using T = typename R::Element;
  const ReducePlan& plan = args.plan;
  return {args,
          {static_cast<const T*>(args.x), static_cast<const T*>(args.z), plan.extent.rows, plan.extent.cols, plan.axes},
          static_cast<typename R::Output*>(args.y),
          static_cast<typename R::Partial*>(args.workspace),
          {plan.problem.function == Reduce::mean, access_elements(variants[plan.variant].config, sizeof(T)),
           tiling_of<R>(args).tile_elements()}};
}

// For a kernel besides the plan's own.
template <class R>
static simt::Config launch_config(const Call<R>& call, std::int64_t x, std::int64_t y, int threads,
                                  std::size_t smem = 0) {
  return {.grid = dim3(static_cast<unsigned>(x), static_cast<unsigned>(y)),
          .block = dim3(static_cast<unsigned>(threads)),
          .smem = smem,
          .stream = call.args.stream.handle,
          .warp = call.args.plan.device.warp};
}
// For the plan's kernel, from its footprint. Blocks in y have slices (grid_of()).
template <class R> static simt::Config launch_config(const Call<R>& call, std::int64_t slices = 1) {
  const ReducePlan& plan = call.args.plan;
  const std::int64_t y = std::min(slices, max_grid_y);
  return launch_config(call, plan.grid / y, y, variants[plan.variant].config.threads,
                       static_cast<std::size_t>(plan.smem));
}

}  // namespace ridge::reduce_detail
