// The interface of plan.cpp to the .cu files: one launch per element type and backend.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/dwconv/dwconv.hpp>

namespace ridge::dwconv_detail {

using Types = TypeList<float, half, bfloat16>;

struct Arguments {
  const DwconvPlan& plan;
  const void *y_in, *k, *w;  // y_in: dy, null in a forward problem
  void *y, *dk, *dw;         // y: null in a backward problem; the gradients the other way round
  Stream stream;
};

// Preconditions: an output has elements, and the pointers are those that the plan's problem needs.
template <class Backend> Status launch_f32(const Arguments&);
template <class Backend> Status launch_f16(const Arguments&);
template <class Backend> Status launch_bf16(const Arguments&);

// Rows of Algorithm::tensor. Defined in a build with CUDA.
Status launch_tensor_f32(const Arguments&);
Status launch_tensor_f16(const Arguments&);
Status launch_tensor_bf16(const Arguments&);
// w's gradient only.
Status launch_lags_f32(const Arguments&);

// Rows of Algorithm::whole. Defined in a build with CUDA.
Status launch_whole_f32(const Arguments&);

}  // namespace ridge::dwconv_detail
