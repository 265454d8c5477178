// The interface of the .cu files for plan.cpp: one launch per element type and backend.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/pool/pool.hpp>

namespace ridge::pool_detail {

using Types = TypeList<float, half, bfloat16>;

struct Arguments {
  const PoolPlan& plan;
  const void* x;
  void* y;
  Stream stream;
};

// Preconditions: the plan's problem has outputs, and the pointers match it.
template <class Backend> Status launch_f32(const Arguments&);
template <class Backend> Status launch_f16(const Arguments&);
template <class Backend> Status launch_bf16(const Arguments&);

// The same of gradients; x and y are the maximum's. Precondition: dx has elements.
struct GradientArguments {
  const PoolPlan& plan;
  const void *dy, *x, *y;
  void* dx;
  Stream stream;
};
template <class Backend> Status launch_gradient_f32(const GradientArguments&);
template <class Backend> Status launch_gradient_f16(const GradientArguments&);
template <class Backend> Status launch_gradient_bf16(const GradientArguments&);

}  // namespace ridge::pool_detail
