// What plan.cpp knows of the .cu files: one launch per element type and per backend.
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

inline constexpr std::int64_t max_blocks = 0x7fffffff;  // of a grid in x, on every device

// Preconditions: O has elements, and the tensors are as the problem says.
template <class Backend> Status launch_f32(const Call&);
template <class Backend> Status launch_16bit(const Call&);  // f16, bf16

// Preconditions: a tensor of the gradients has elements, and the tensors are as the problem says.
template <class Backend> Status launch_gradient_f32(const Call&);
template <class Backend> Status launch_gradient_16bit(const Call&);

// Rows of Family::mma_sync. Defined in a build with CUDA.
Status launch_mma_f16(const Call&);
Status launch_mma_bf16(const Call&);
// Of Family::wgmma.
Status launch_wgmma_f16(const Call&);
Status launch_wgmma_bf16(const Call&);
// Of Family::wgmma_terms.
Status launch_wgmma_terms(const Call&);
// Of Family::decode.
Status launch_decode(const Call&);
// Of Family::decode_one.
Status launch_decode_one(const Call&);
// Of Family::mma_gradient.
Status launch_mma_gradient_f16(const Call&);
Status launch_mma_gradient_bf16(const Call&);
// Of Family::wgmma_gradient.
Status launch_wgmma_gradient(const Call&);

}  // namespace ridge::attention_detail
