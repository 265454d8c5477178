// What plan.cpp knows of launch.cpp, and that of the .cu files: one launch per element type and per backend.
#pragma once
#include <ridge/attention/attention.hpp>
#include <ridge/core/backend.hpp>

namespace ridge::attention_detail {

struct Call {
  const AttentionPlan& plan;
  const AttentionProblem& problem;  // the plan's, as the tensors are aligned
  const AttentionTensors& tensors;
  Workspace workspace;
  Stream stream;
  const AttentionGradientTensors* gradient = nullptr;  // of a plan for gradients; `tensors` are their part of these
};

// The kernels of the plan's row. Preconditions: O, or a tensor of the gradients, has elements, and the tensors are as
// the problem says.
Status launch(const Call&);

// ---- by file, of the rows that it has

// Of the forward pass.
template <class Backend> Status launch_f32(const Call&);
template <class Backend> Status launch_16bit(const Call&);  // f16, bf16

// Of gradients.
template <class Backend> Status launch_gradient_f32(const Call&);
template <class Backend> Status launch_gradient_16bit(const Call&);

// Of Algorithm::mma_sync. This and what follows is defined in a build with CUDA.
Status launch_mma_f16(const Call&);
Status launch_mma_bf16(const Call&);
// Of Algorithm::wgmma.
Status launch_wgmma_f16(const Call&);
Status launch_wgmma_bf16(const Call&);
// Of Algorithm::wgmma_terms.
Status launch_wgmma_terms(const Call&);
// Of Algorithm::decode.
Status launch_decode(const Call&);
// Of Algorithm::decode_one.
Status launch_decode_one(const Call&);
// Of Algorithm::mma_gradient.
Status launch_mma_gradient_f16(const Call&);
Status launch_mma_gradient_bf16(const Call&);
// Of Algorithm::wgmma_gradient.
Status launch_wgmma_gradient(const Call&);

}  // namespace ridge::attention_detail
