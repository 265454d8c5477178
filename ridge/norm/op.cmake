ridge_operator(SOURCES plan.cpp op.cpp
  KERNELS norm_f32.cu norm_f16.cu norm_bf16.cu norm_f64.cu two_float.cu
  CUDA_KERNELS sm90_ring.cu sm90_resident.cu sm90_fused.cu sm90_specialized.cu)
# Hopper's kernels on the CPU runtime, as the library does not offer them there.
ridge_kernel_test(norm_sm90 sm90_test.cu)
