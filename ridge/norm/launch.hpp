// The launches that the .cu files define for plan.cpp.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/norm/norm.hpp>

namespace ridge::norm_detail {

using Types = TypeList<float, half, bfloat16, double>;

// gamma or beta, or its gradient: [cols].
struct Parameter {
  void* data = nullptr;   // null: there is none
  std::int64_t step = 1;  // in elements
};

// The plan's tensors, in the order of NormProblem::row_layouts, and its parameters.
struct Operands {
  void *x = nullptr, *y = nullptr, *other = nullptr, *added = nullptr;
  Parameter gamma = {}, beta = {}, dgamma = {}, dbeta = {};
  void* workspace = nullptr;
};

// Preconditions: the plan's problem has columns, and the operands are as planned.
template <class Backend, class T> Status launch(const NormPlan&, const Operands&, Stream);

// For rows of f32, forward, with Accumulate::two_float.
template <class Backend> Status launch_two_float(const NormPlan&, const Operands&, Stream);

// Only on CUDA: Algorithms resident and fused in clusters, specialized (16-bit types), ring.
template <class T> Status launch_resident_clusters(const NormPlan&, const Operands&, Stream);
template <class T> Status launch_fused_clusters(const NormPlan&, const Operands&, Stream);
template <class T> Status launch_specialized(const NormPlan&, const Operands&, Stream);
template <class T> Status launch_ring(const NormPlan&, const Operands&, Stream);

}  // namespace ridge::norm_detail
