ridge_operator(SOURCES problem.cpp check_sequences.cpp plan.cpp launch.cpp op.cpp merge.cpp
  KERNELS attention_f32.cu attention_16bit.cu gradient_f32.cu gradient_16bit.cu merge.cu
  CUDA_KERNELS sm80_f16.cu sm80_bf16.cu sm80_gradient_f16.cu sm80_gradient_bf16.cu sm80_gradient_short.cu sm90_f16.cu
    sm90_bf16.cu sm90_f32.cu sm90_decode.cu sm90_decode_one.cu sm90_gradient.cu
  TESTS accuracy_test.cpp)
# Kernels for tensor cores on the CPU runtime, as the library does not offer them there.
ridge_kernel_test(attention_sm90 sm90_test.cu)
ridge_kernel_test(attention_split_sm90 sm90_split_test.cu)
ridge_kernel_test(attention_gradient_sm80 sm80_gradient_test.cu)
ridge_kernel_test(attention_gradient_short sm80_gradient_short_test.cu)
ridge_kernel_test(attention_decode_sm90 sm90_decode_test.cu)
ridge_kernel_test(attention_terms_sm90 sm90_terms_test.cu)
ridge_kernel_test(attention_gradient_sm90 sm90_gradient_test.cu)
ridge_kernel_test(attention_untrusted untrusted_test.cu)
if(RIDGE_TESTS)
  target_link_libraries(attention_gradient_sm80_test PRIVATE ridge_check)
  target_link_libraries(attention_gradient_short_test PRIVATE ridge_check)
  target_link_libraries(attention_split_sm90_test PRIVATE ridge_check)
  target_link_libraries(attention_decode_sm90_test PRIVATE ridge_check)
  target_link_libraries(attention_terms_sm90_test PRIVATE ridge_check)
  target_link_libraries(attention_gradient_sm90_test PRIVATE ridge_check)
  target_link_libraries(attention_untrusted_test PRIVATE ridge_check)
endif()
