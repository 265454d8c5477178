// The launch that the .cu files define for plan.cpp, for each element type and backend.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/group_norm/group_norm.hpp>

namespace ridge::group_norm_detail {

using Types = TypeList<float, half, bfloat16>;

// A run's tensors. y is dx for gradients. Null: not given.
struct Operands {
  void *x = nullptr, *y = nullptr, *dy = nullptr;
  const TensorView *gamma = nullptr, *beta = nullptr, *dgamma = nullptr, *dbeta = nullptr;
  void* workspace = nullptr;
};

// Preconditions: the plan's problem has channels, and the operands are as planned.
template <class Backend, class T> Status launch(const GroupNormPlan&, const Operands&, Stream);

}  // namespace ridge::group_norm_detail
