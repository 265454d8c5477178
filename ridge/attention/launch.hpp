// Interface between plan.cpp, launch.cpp and the .cu files: one launch function per element type and backend.
#pragma once
#include <ridge/attention/attention.hpp>
#include <ridge/core/backend.hpp>

namespace ridge::attention_detail {

struct Call {
  const AttentionPlan& plan;
  const AttentionProblem& problem;  // the plan's, with the tensors' actual alignment
  const AttentionTensors& tensors;
  Workspace workspace;
  Stream stream;
  const AttentionGradientTensors* gradient = nullptr;  // for a plan of gradients; `tensors` are then a subset
};

// Launches the kernels of the plan's row. Preconditions: O, or a gradient, has elements, and the tensors match the
// problem.
Status launch(const Call&);

// ---- launch functions, by file

// Forward pass.
template <class Backend> Status launch_f32(const Call&);
template <class Backend> Status launch_16bit(const Call&);  // f16, bf16

// Gradients.
template <class Backend> Status launch_gradient_f32(const Call&);
template <class Backend> Status launch_gradient_16bit(const Call&);

// Algorithm::mma_sync. This and what follows is defined in a build with CUDA.
Status launch_mma_f16(const Call&);
Status launch_mma_bf16(const Call&);
// Algorithm::wgmma.
Status launch_wgmma_f16(const Call&);
Status launch_wgmma_bf16(const Call&);
// Algorithm::wgmma_terms.
Status launch_wgmma_terms(const Call&);
// Algorithm::decode.
Status launch_decode(const Call&);
// Algorithm::decode_one.
Status launch_decode_one(const Call&);
// Algorithm::mma_gradient.
Status launch_mma_gradient_f16(const Call&);
Status launch_mma_gradient_bf16(const Call&);
// Algorithm::short_gradient.
Status launch_short_gradient(const Call&);
// Algorithm::wgmma_gradient.
Status launch_wgmma_gradient(const Call&);

}  // namespace ridge::attention_detail
