ridge_operator(SOURCES plan.cpp op.cpp
  KERNELS norm_f32.cu norm_f16.cu norm_bf16.cu norm_f64.cu
  CUDA_KERNELS sm90_ring.cu sm90_fused.cu)
