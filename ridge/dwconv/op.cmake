ridge_operator(SOURCES plan.cpp op.cpp
  KERNELS dwconv_f32.cu dwconv_f16.cu dwconv_bf16.cu
  CUDA_KERNELS sm80_f32.cu sm80_f16.cu sm80_bf16.cu sm90_f32.cu)
# Hopper's kernels on the CPU runtime, as the library does not offer them there.
ridge_kernel_test(dwconv_sm90 sm90_test.cu)
