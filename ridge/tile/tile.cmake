# The collectives that kernels are built from: headers, and their tests.
if(RIDGE_TESTS)
  add_executable(tile_test)
  ridge_cpu_kernels(tile_test ${PROJECT_SOURCE_DIR}/ridge/tile/test.cu)
  target_link_libraries(tile_test PRIVATE ridge GTest::gtest_main)
  add_test(NAME tile COMMAND tile_test)
  set_tests_properties(tile PROPERTIES LABELS cpu)
endif()
