// A plan's launch, and what it needs of the .cu files: one launch per type of A and B and per backend.
#pragma once
#include <ridge/core/backend.hpp>
#include <ridge/gemm/gemm.hpp>

namespace ridge::gemm_detail {

struct Arguments {
  const GemmPlan& plan;
  const GemmProblem& problem;  // the plan's, with the actual alignment of the tensors
  const GemmTensors& tensors;
  Workspace workspace;
  Stream stream;
};

// Preconditions here and below: D has elements, and the tensors match the problem.
Status launch(const Arguments&);

template <class Backend> Status launch_f64(const Arguments&);
template <class Backend> Status launch_f32(const Arguments&);
template <class Backend> Status launch_16bit(const Arguments&);  // f16, bf16
template <class Backend> Status launch_fp8(const Arguments&);    // f8e4m3, f8e5m2
template <class Backend> Status launch_i8(const Arguments&);
template <class Backend> Status launch_sliced(const Arguments&);  // by the plan's nested one

// Rows of the tensor-core families. Defined in a build with CUDA.
Status launch_mma_f64(const Arguments&);
Status launch_mma_tf32(const Arguments&);
Status launch_mma_i8(const Arguments&);
Status launch_mma_fp8(const Arguments&);
Status launch_mma_f16(const Arguments&);
Status launch_mma_bf16(const Arguments&);
Status launch_wgmma_f16(const Arguments&);
Status launch_wgmma_bf16(const Arguments&);
Status launch_wgmma_tf32(const Arguments&);
Status launch_tma_tile_f32(const Arguments&);
Status launch_wgmma_fp8(const Arguments&);
Status launch_wgmma_i8(const Arguments&);
Status launch_split_f16(const Arguments&);
Status launch_split_bf16(const Arguments&);
Status launch_split_tf32(const Arguments&);
Status launch_split_fp8(const Arguments&);
Status launch_split_i8(const Arguments&);

// Copies the operands that are to be repacked to the workspace.
struct Repack;
Status launch_repack(const Arguments&, const Repack&);

}  // namespace ridge::gemm_detail
