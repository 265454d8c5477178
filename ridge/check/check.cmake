# Offsets beyond 2^31, of operators by name: on the CPU what is expected, on small tensors; on a GPU the large ones.
if(RIDGE_TESTS)
  add_executable(offsets_test ${CMAKE_CURRENT_LIST_DIR}/offsets_test.cpp)
  target_link_libraries(offsets_test PRIVATE ridge GTest::gtest_main)
  add_test(NAME offsets COMMAND offsets_test --gtest_filter=cpu/*)
  add_test(NAME offsets.gpu COMMAND offsets_test --gtest_filter=cuda/*)
  set_tests_properties(offsets PROPERTIES LABELS cpu)
  set_tests_properties(offsets.gpu PROPERTIES LABELS gpu RUN_SERIAL ON SKIP_REGULAR_EXPRESSION "skipped: no GPU")
endif()
