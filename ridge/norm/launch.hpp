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

// Where the sums of dgamma and dbeta come from: `slices` rows of [2, cols] in the workspace, behind the statistics of
// each row where the kernel over columns needs them.
struct SumsPlan {
  bool fused = false;
  bool of_few = false;                          // a thread adds up a column: there are no slices
  std::int64_t slices = 0;                      // blocks, or clusters, of the fused kernel, or slices of rows
  std::int64_t rows_of_slice = 0;               // not fused
  std::size_t statistics_bytes = 0, bytes = 0;  // bytes: of all of these
};
SumsPlan sums_plan(const NormPlan&);
// Where in the workspace the partial results of split rows begin, behind those; all of it is workspace_bytes().
std::size_t partials_at(const SumsPlan&);

// Preconditions: the plan's problem has columns, and the operands are as it says.
template <class Backend, class T> Status launch(const NormPlan&, const Operands&, Stream);

// Of rows of f32, forward, with Accumulate::two_float.
template <class Backend> Status launch_two_float(const NormPlan&, const Operands&, Stream);

// Method ring, of CUDA alone.
template <class T> Status launch_ring(const NormPlan&, const Operands&, Stream);
// Methods resident and fused in clusters, the same.
template <class T> Status launch_resident_clusters(const NormPlan&, const Operands&, Stream);
template <class T> Status launch_fused_clusters(const NormPlan&, const Operands&, Stream);
template <class T> Status launch_roles(const NormPlan&, const Operands&, Stream);  // of 16 bits

}  // namespace ridge::norm_detail
