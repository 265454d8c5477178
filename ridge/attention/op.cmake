ridge_operator(SOURCES problem.cpp plan.cpp op.cpp merge.cpp
  KERNELS attention_f32.cu attention_16bit.cu gradient_f32.cu gradient_f16.cu gradient_bf16.cu merge.cu
  CUDA_KERNELS sm80_f16.cu sm80_bf16.cu sm90_f16.cu sm90_bf16.cu)
# Hopper's kernel on the CPU runtime, as the library does not offer it there.
if(RIDGE_TESTS)
  add_executable(attention_sm90_test)
  ridge_cpu_kernels(attention_sm90_test ${CMAKE_CURRENT_LIST_DIR}/sm90_test.cu)
  target_link_libraries(attention_sm90_test PRIVATE ridge GTest::gtest_main)
  add_test(NAME attention_sm90 COMMAND attention_sm90_test)
  set_tests_properties(attention_sm90 PROPERTIES LABELS cpu)
endif()
