ridge_operator(SOURCES problem.cpp plan.cpp op.cpp linear.cpp
  KERNELS gemm_f32.cu gemm_f64.cu gemm_16bit.cu gemm_fp8.cu gemm_i8.cu
  CUDA_KERNELS sm80_mma_f64.cu sm80_mma_f16.cu sm80_mma_bf16.cu sm90_f16.cu sm90_bf16.cu sm90_split_f16.cu sm90_split_bf16.cu
    sm90_tf32.cu sm90_fp8.cu sm90_i8.cu repack.cu
  PEERS peers.cu)
# The copies of operands, as kernels of their own.
if(RIDGE_TESTS)
  add_executable(gemm_repack_test)
  ridge_cpu_kernels(gemm_repack_test ${CMAKE_CURRENT_LIST_DIR}/repack_test.cu)
  target_link_libraries(gemm_repack_test PRIVATE ridge GTest::gtest_main)
  add_test(NAME gemm_repack COMMAND gemm_repack_test)
  set_tests_properties(gemm_repack PROPERTIES LABELS cpu)
endif()
