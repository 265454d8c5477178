ridge_operator(SOURCES problem.cpp transpose_problem.cpp plan.cpp op.cpp
  NEEDS gemm  # filters of one tap
  KERNELS conv_f32.cu conv_f16.cu conv_bf16.cu
  CUDA_KERNELS sm80_f16.cu sm80_bf16.cu sm90_f32.cu sm90_tf32.cu sm90_f16.cu sm90_bf16.cu sm90_volume_f32.cu
  sm90_volume_f16.cu sm90_volume_bf16.cu
  TESTS slices_test.cpp volume_test.cpp)
# Kernels of tensor cores on the CPU runtime, as the library does not offer it there.
ridge_kernel_test(conv_sm80 sm80_test.cu)
ridge_kernel_test(conv_sm90 sm90_test.cu)
ridge_kernel_test(conv_sm90_gradient sm90_gradient_test.cu)
ridge_kernel_test(conv_sm90_volume sm90_volume_test.cu)
