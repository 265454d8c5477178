// The launches that the .cu files define for plan.cpp.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/softmax/softmax.hpp>

namespace ridge::softmax_detail {

using Types = TypeList<float, half, bfloat16, double>;
// Preconditions: the plan's problem has elements, and the pointers are as planned.
template <class Backend> Status launch(const SoftmaxPlan&, const void* x, void* y, void* workspace, Stream);
template <class Backend>
Status launch_gradient(const SoftmaxPlan&, const void* y, const void* dy, void* dx, void* workspace, Stream);

// Only on CUDA: Algorithm::resident in clusters, and gradients by Algorithm::ring.
Status launch_clusters(const SoftmaxPlan&, const void* x, void* y, Stream);
Status launch_ring(const SoftmaxPlan&, const void* y, const void* dy, void* dx, Stream);

}  // namespace ridge::softmax_detail
