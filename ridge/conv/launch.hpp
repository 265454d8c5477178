// The interface of plan.cpp to the .cu files: one launch per element type and backend; and of those to the files for
// Hopper.
#pragma once
#include <ridge/conv/conv.hpp>
#include <ridge/core/backend.hpp>

namespace ridge::conv_detail {

using Types = TypeList<float, half, bfloat16>;

struct Arguments {
  const ConvPlan& plan;
  // Null where the problem has none.
  const void *x = nullptr, *w = nullptr, *bias = nullptr, *residual = nullptr, *dy = nullptr;
  void *y = nullptr, *dx = nullptr, *dw = nullptr;
  void* workspace = nullptr;
  Stream stream = {};
};

// Preconditions: an output has elements, and the pointers are those that the plan's problem needs.
template <class Backend> Status launch_f32(const Arguments&);
template <class Backend> Status launch_f16(const Arguments&);
template <class Backend> Status launch_bf16(const Arguments&);

// The row that the plan chose, of any type and on any device (plan.cpp): for a row that runs by a nested plan.
Status launch_plan(const Arguments&);

// CUDA only: rows by mma.sync (sm80_grouped.hpp).
Status launch_mma_f16(const Arguments&);
Status launch_mma_bf16(const Arguments&);

// CUDA only: rows of Algorithm::fma, and those for tensor cores.
Status launch_fma(const Arguments&);
Status launch_wgmma_tf32(const Arguments&);
Status launch_wgmma_f16(const Arguments&);
Status launch_wgmma_bf16(const Arguments&);
Status launch_volume_f32(const Arguments&);
Status launch_volume_f16(const Arguments&);
Status launch_volume_bf16(const Arguments&);

}  // namespace ridge::conv_detail
