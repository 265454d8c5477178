// The arguments of a variant's launch, and its configuration from the plan. Functions are static: the files that
// include this are compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/simt/launch.hpp>
#include <ridge/softmax/families.hpp>
#include <ridge/softmax/launch.hpp>
#include <ridge/tile/dependent_launch.cuh>

namespace ridge::softmax_detail {

template <class T> struct Forward {
  const SoftmaxPlan& plan;
  const T* x;
  T* y;
  void* workspace;
  Stream stream;
};

template <class T> struct Backward {
  const SoftmaxPlan& plan;
  const T *y, *dy;
  T* dx;
  void* workspace;
  Stream stream;
};

template <class Call> static simt::Config launch_config(const Call& call, int warp) {
  const SoftmaxPlan& plan = call.plan;
  const Variant& row = variants[plan.variant];
  return {.grid = dim3(static_cast<unsigned>(plan.grid)),
          .block = dim3(static_cast<unsigned>(row.config.threads)),
          .smem = static_cast<std::size_t>(family_of(row).footprint(row, plan.problem, plan.device).smem),
          .stream = call.stream.handle,
          .warp = warp};
}

}  // namespace ridge::softmax_detail
