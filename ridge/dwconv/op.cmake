ridge_operator(SOURCES plan.cpp op.cpp
  KERNELS dwconv_f32.cu dwconv_f16.cu dwconv_bf16.cu
  CUDA_KERNELS sm80_f32.cu sm80_f16.cu sm80_bf16.cu)
