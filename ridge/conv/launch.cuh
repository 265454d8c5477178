// What launches share: the epilogue, and the grid, which follows from the family's footprint. Functions are static: the
// .cu files are compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/conv/epilogue.cuh>
#include <ridge/conv/families.hpp>
#include <ridge/conv/launch.hpp>
#include <ridge/simt/launch.hpp>

#include <algorithm>

namespace ridge::conv_detail {

static inline int whole(std::int64_t n) { return static_cast<int>(n); }  // fits() has checked the range

// Of y, or of dx: a plain gradient has none.
template <class T> static Epilogue<T> epilogue_of(const Arguments& args) {
  const ConvProblem& p = args.plan.problem;
  Epilogue<T> e{.bias = static_cast<const T*>(args.bias), .residual = static_cast<const T*>(args.residual)};
  if (p.bias) e.bias_stride = p.bias->stride[0];
  if (p.residual) std::copy_n(p.residual->stride.begin(), p.residual->rank, e.residual_strides);
  e.activation = p.epilogue.activation;
  e.residual_first = p.epilogue.residual_first;
  return e;
}
// The same where outputs are those of a phase of the stride (geometry.hpp): the residual's are too.
template <class T>
static Epilogue<T> epilogue_of(const Arguments& args, const AxisMap& h, const AxisMap& w, const AxisMap& d = {}) {
  Epilogue<T> e = epilogue_of<T>(args);
  if (e.residual)
    e.residual += h.first_output * e.residual_strides[2] + w.first_output * e.residual_strides[3] +
                  d.first_output * e.residual_strides[4];
  e.residual_strides[2] *= h.output_pitch;
  e.residual_strides[3] *= w.output_pitch;
  e.residual_strides[4] *= d.output_pitch;
  return e;
}

// Whether rows are whole vectors of N contiguous floats, each aligned to its size.
template <int N> static bool has_vectors(const Layout& t, const void* data) {
  const bool whole = t.shape[3] % N == 0 && t.stride[0] % N == 0 && t.stride[1] % N == 0 && t.stride[2] % N == 0;
  return whole && t.stride[3] == 1 && reinterpret_cast<std::uintptr_t>(data) % (N * sizeof(float)) == 0;
}

// For a kernel other than the row's own.
static inline simt::Config launch_config(const Arguments& args, int threads, std::int64_t grid) {
  return {.grid = dim3(static_cast<unsigned>(grid)),
          .block = dim3(static_cast<unsigned>(threads)),
          .stream = args.stream.handle,
          .warp = args.plan.device.warp};
}
// For the row's own kernel: from its footprint.
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
