// What a launch of a row of the table is given, and how its grid follows from the form. Functions are static: the file
// that includes this is compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/simt/launch.hpp>
#include <ridge/tile/overlap.cuh>
#include <ridge/transpose/families.hpp>
#include <ridge/transpose/launch.hpp>

namespace ridge::transpose_detail {

template <class T> struct Call {
  const TransposePlan& plan;
  const Form& form;  // of the tensors given
  const T* x;
  T* y;
  Stream stream;
};

template <class T> static simt::Config launch_config(const Call<T>& call) {
  const TransposePlan& plan = call.plan;
  const Variant& row = variants[plan.variant];
  const Footprint launch = family_of(row).footprint(row, {plan.problem, call.form}, plan.device);
  return {.grid = dim3(static_cast<unsigned>(launch.grid)),
          .block = dim3(static_cast<unsigned>(launch.threads)),
          .smem = static_cast<std::size_t>(launch.smem),
          .stream = call.stream.handle,
          .warp = plan.device.warp};
}

// A kernel that may begin while the one before it in the stream ends, on Hopper, and lets the next one begin so: one of
// those that are sooner by it, on an H200.
template <class T, class Kernel, class... A>
static Status launch_dependent(const Call<T>& call, const simt::Config& at, Kernel kernel, const A&... args) {
  if (call.plan.device.cc == 90) return tile::launch_overlapping(at, kernel, args...);
  return simt::launch(at, kernel, args...);
}

}  // namespace ridge::transpose_detail
