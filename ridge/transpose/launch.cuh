// The arguments of a table row's launch, and its grid, which follows from the form. Functions are static: the file that
// includes this is compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/simt/launch.hpp>
#include <ridge/tile/dependent_launch.cuh>
#include <ridge/transpose/families.hpp>
#include <ridge/transpose/launch.hpp>

namespace ridge::transpose_detail {

template <class T> struct Call {
  const TransposePlan& plan;
  const Form& form;  // of the given tensors
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

}  // namespace ridge::transpose_detail
