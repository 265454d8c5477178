// What plan.cpp knows of the .cu files: one launch per element type and backend. And what those know of the ones for
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

// Preconditions: there is an output that has elements, and the pointers are as the plan's problem says.
template <class Backend> Status launch_f32(const Arguments&);
template <class Backend> Status launch_f16(const Arguments&);
template <class Backend> Status launch_bf16(const Arguments&);

// Of CUDA alone: rows of Method::fma, and for tensor cores.
Status launch_fma(const Arguments&);
Status launch_wgmma_tf32(const Arguments&);
Status launch_wgmma_f16(const Arguments&);
Status launch_wgmma_bf16(const Arguments&);

}  // namespace ridge::conv_detail
