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

}  // namespace ridge::pool_detail
