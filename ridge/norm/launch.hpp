// What plan.cpp knows of the .cu files.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/norm/norm.hpp>

namespace ridge::norm_detail {

using Types = TypeList<float, half, bfloat16, double>;

struct Vector {
  void* data = nullptr;   // null: there is none
  std::int64_t step = 1;  // in elements
};

// What the plan's tensors are, in the order of NormProblem::rows_lie, and its vectors.
struct Operands {
  void *x = nullptr, *y = nullptr, *other = nullptr, *added = nullptr;
  Vector gamma = {}, beta = {}, dgamma = {}, dbeta = {};
  void* workspace = nullptr;
};

// Preconditions: the plan's problem has columns, and the operands are as it says.
template <class Backend, class T> Status launch(const NormPlan&, const Operands&, Stream);

// Of rows of f32, forward, with Accumulate::two_float.
template <class Backend> Status launch_two_float(const NormPlan&, const Operands&, Stream);

// Of CUDA alone: Algorithms resident and fused in clusters, specialized (of 16 bits), ring.
template <class T> Status launch_resident_clusters(const NormPlan&, const Operands&, Stream);
template <class T> Status launch_fused_clusters(const NormPlan&, const Operands&, Stream);
template <class T> Status launch_specialized(const NormPlan&, const Operands&, Stream);
template <class T> Status launch_ring(const NormPlan&, const Operands&, Stream);

}  // namespace ridge::norm_detail
