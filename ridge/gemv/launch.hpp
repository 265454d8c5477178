// What plan.cpp needs of problem.cpp and of the .cu files: one launch per group of types and per backend.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/gemv/variants.hpp>

namespace ridge::gemv_detail {

// Whether the contract allows the problem.
Status validate(const GemvProblem&);

// alpha == 0 reads neither A nor x: the products then have no terms, as with K == 0.
inline std::int64_t products(const GemvProblem& p) { return p.scalars.alpha == 0 ? 0 : p.k; }

inline Extent extent_of(const GemvProblem& p) {
  const auto distance = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  const bool adjacent = p.row_stride != 0 && distance(p.row_stride) < distance(p.k_stride);
  return {.m = p.m, .k = products(p), .adjacent = adjacent ? p.m : 1};
}

struct Arguments {
  const GemvPlan& plan;
  const GemvTensors& tensors;
  void* workspace;
  Stream stream;
};

// Preconditions: y has elements, and the tensors match the plan.
template <class Backend> Status launch_f64(const Arguments&);
template <class Backend> Status launch_f32(const Arguments&);
template <class Backend> Status launch_16bit(const Arguments&);  // f16, bf16

}  // namespace ridge::gemv_detail
