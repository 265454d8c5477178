// What a launch of a row of the table is given, and how its grid follows from its family's footprint. Functions are
// static: the .cu files are compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/conv/epilogue.cuh>
#include <ridge/conv/families.hpp>
#include <ridge/conv/launch.hpp>
#include <ridge/simt/launch.hpp>

#include <algorithm>

namespace ridge::conv_detail {

static inline int whole(std::int64_t n) {
  return static_cast<int>(n);
}  // fits() has bounded what is handed over as int

template <class T> static Epilogue<T> epilogue_of(const Arguments& args) {
  const ConvProblem& p = args.plan.problem;
  Epilogue<T> e{.bias = static_cast<const T*>(args.bias), .residual = static_cast<const T*>(args.residual)};
  if (p.bias) e.bias_stride = p.bias->stride[0];
  if (p.residual) std::copy_n(p.residual->stride.begin(), 4, e.residual_strides);
  e.activation = p.epilogue.activation;
  e.residual_first = p.epilogue.residual_first;
  return e;
}

// Whether rows are whole groups of N neighbouring floats, each on as many bytes.
template <int N> static bool has_groups(const Layout& t, const void* data) {
  const bool whole = t.shape[3] % N == 0 && t.stride[0] % N == 0 && t.stride[1] % N == 0 && t.stride[2] % N == 0;
  return whole && t.stride[3] == 1 && reinterpret_cast<std::uintptr_t>(data) % (N * sizeof(float)) == 0;
}

// Of a kernel beside the row's own.
static inline simt::Config launch_config(const Arguments& args, int threads, std::int64_t grid) {
  return {.grid = dim3(static_cast<unsigned>(grid)),
          .block = dim3(static_cast<unsigned>(threads)),
          .stream = args.stream.handle,
          .warp = args.plan.device.warp};
}
// Of the row's own: its footprint's.
static inline simt::Config launch_config(const Arguments& args, const Footprint& launch) {
  simt::Config at = launch_config(args, launch.threads, launch.grid);
  at.smem = static_cast<std::size_t>(launch.smem);
  return at;
}
static inline simt::Config launch_config(const Arguments& args) {
  const ConvPlan& plan = args.plan;
  const Variant& row = variants[plan.variant];
  return launch_config(args, family_of(row).footprint(row, {plan.problem, plan.split}, plan.device));
}

}  // namespace ridge::conv_detail
