// The launches that the .cu files define for plan.cpp, one per element type and backend.
#pragma once
#include <ridge/batch_norm/batch_norm.hpp>
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>

namespace ridge::batch_norm_detail {

using Types = TypeList<float, half, bfloat16>;

struct Arguments {
  const BatchNormPlan& plan;
  const BatchNormTensors& tensors;
  void* workspace;
  Stream stream;
};

// Preconditions: the plan's problem has channels, and the tensors are as planned.
template <class Backend> Status launch_f32(const Arguments&);
template <class Backend> Status launch_f16(const Arguments&);
template <class Backend> Status launch_bf16(const Arguments&);

// The same of gradients.
struct GradientArguments {
  const BatchNormPlan& plan;
  const BatchNormGradientTensors& tensors;
  void* workspace;
  Stream stream;
};
template <class Backend> Status launch_gradient_f32(const GradientArguments&);
template <class Backend> Status launch_gradient_f16(const GradientArguments&);
template <class Backend> Status launch_gradient_bf16(const GradientArguments&);

}  // namespace ridge::batch_norm_detail
