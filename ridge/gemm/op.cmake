ridge_operator(SOURCES problem.cpp model.cpp plan.cpp sliced.cpp launch.cpp op.cpp linear.cpp list.cpp
  KERNELS gemm_f32.cu gemm_f64.cu gemm_16bit.cu gemm_fp8.cu gemm_i8.cu sliced.cu list.cu
  CUDA_KERNELS sm80_mma_f64.cu sm80_mma_f16.cu sm80_mma_bf16.cu sm80_mma_tf32.cu sm80_mma_i8.cu sm89_mma_fp8.cu sm80_list.cu sm90_f16.cu sm90_bf16.cu sm90_split_f16.cu sm90_split_bf16.cu
    sm90_split_tf32.cu sm90_split_fp8.cu sm90_split_i8.cu sm90_f32.cu sm90_tf32.cu sm90_fp8.cu sm90_i8.cu sm90_repack.cu
  PEERS peers.cu
  TESTS plan_test.cpp table_test.cpp slices_test.cpp stream_k_test.cpp chain_test.cpp)
# The kernels that copy operands.
ridge_kernel_test(gemm_repack repack_test.cu)
# Hopper's rows on the CPU runtime, as the library does not offer them there.
ridge_kernel_test(gemm_sm90 sm90_test.cu)
# The same for the rows that multiply by mma.sync.
ridge_kernel_test(gemm_sm80 sm80_test.cu)
# Lists of products, which are no operator by name.
ridge_device_test(gemm_list list_test.cpp)
