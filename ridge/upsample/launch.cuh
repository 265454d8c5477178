// The arguments of a table row's launch, and its configuration from the plan. Functions are static: the .cu files are
// compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/simt/launch.hpp>
#include <ridge/upsample/families.hpp>

namespace ridge::upsample_detail {

template <class T> struct Call {
  const UpsamplePlan& plan;
  const T* in;  // x, or dy
  T* out;       // y, or dx
  Stream stream;
};

// Bytes are copied, and never added.
template <class T> inline constexpr bool has_gradient = sizeof(T) > 1;

template <class T> static simt::Config launch_config(const Call<T>& call) {
  const UpsamplePlan& plan = call.plan;
  const Variant& row = variants[plan.variant];
  const Footprint launch = family_of(row).footprint(row, plan.problem, plan.device);
  return {.grid = dim3(static_cast<unsigned>(launch.grid)),
          .block = dim3(static_cast<unsigned>(launch.threads)),
          .smem = static_cast<std::size_t>(launch.smem),
          .stream = call.stream.handle,
          .warp = plan.device.warp};
}

inline int whole(std::int64_t n) { return static_cast<int>(n); }  // fits() has bounded these sizes

}  // namespace ridge::upsample_detail
