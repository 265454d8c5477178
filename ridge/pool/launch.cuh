// The arguments of a table row's launch, and its configuration from the plan. Functions are static: the .cu files are
// compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/pool/families.hpp>
#include <ridge/pool/functions.cuh>
#include <ridge/simt/launch.hpp>

namespace ridge::pool_detail {

template <class T> struct Call {
  const PoolPlan& plan;
  const T* x;
  T* y;
  Stream stream;
};

template <class T> static simt::Config launch_config(const Call<T>& call) {
  const PoolPlan& plan = call.plan;
  const Variant& row = variants[plan.variant];
  const Footprint launch = family_of(row).footprint(row, plan.problem, plan.device);
  return {.grid = dim3(static_cast<unsigned>(launch.grid)),
          .block = dim3(static_cast<unsigned>(launch.threads)),
          .smem = static_cast<std::size_t>(launch.smem),
          .stream = call.stream.handle,
          .warp = plan.device.warp};
}

inline int whole(std::int64_t n) { return static_cast<int>(n); }  // fits() has bounded these sizes

// Zeros where no window reaches beyond it.
template <class Index> static PaddedPlane<Index> padded_plane(const PoolProblem& p) {
  if (!clips(p)) return {};
  const PoolPad& pad = p.window.pad;
  return {static_cast<Index>(pad.top), static_cast<Index>(pad.left),
          static_cast<Index>(p.x.shape[2] + pad.top + pad.bottom),
          static_cast<Index>(p.x.shape[3] + pad.left + pad.right)};
}

}  // namespace ridge::pool_detail
