# Offsets beyond 2^31, of operators by name: on the CPU what is expected, on small tensors; on a GPU the large ones.
ridge_device_test(offsets offsets_test.cpp)
if(RIDGE_TESTS)
  set_tests_properties(offsets.gpu PROPERTIES RUN_SERIAL ON)
endif()

# Of every operator by its case book: repeatability, and allocations that fail. The sanitizers' builds would find nothing
# else of the one, and have allocators of their own.
if(RIDGE_TESTS AND RIDGE_SIMT_MODE STREQUAL "plain")
  add_executable(repeat_test ${CMAKE_CURRENT_LIST_DIR}/repeat_test.cpp)
  add_executable(scarce_test ${CMAKE_CURRENT_LIST_DIR}/scarce_test.cpp ${simt}/test/inject.cpp)
  foreach(name repeat scarce)
    ridge_test_options(${name}_test)
    target_link_libraries(${name}_test PRIVATE ridge_check ridge GTest::gtest_main ${CMAKE_DL_LIBS})
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES LABELS cpu)
  endforeach()
endif()

# Problems drawn as models have them, of every operator that says so in its sweep.hpp.
if(RIDGE_TESTS)
  add_executable(sweep_test ${CMAKE_CURRENT_LIST_DIR}/sweep_test.cpp)
  ridge_test_options(sweep_test)
  target_link_libraries(sweep_test PRIVATE ridge_check ridge GTest::gtest_main)
  add_test(NAME sweep COMMAND sweep_test --gtest_filter=-*OnGpu*)
  add_test(NAME sweep.gpu COMMAND sweep_test --gtest_filter=*OnGpu*)
  set_tests_properties(sweep PROPERTIES LABELS cpu)
  set_tests_properties(sweep.gpu PROPERTIES LABELS gpu SKIP_REGULAR_EXPRESSION "skipped: no GPU")
endif()

# Of every operator by name: what options it refuses, that no locale changes what it reads and writes, sizes that no
# memory has, and sizes of 0; and the parts of what tries cases at random, `ridge fuzz`.
if(RIDGE_TESTS)
  foreach(test options locale extremes zero_sizes fuzz)
    add_executable(${test}_test ${CMAKE_CURRENT_LIST_DIR}/${test}_test.cpp)
    ridge_test_options(${test}_test)
    target_link_libraries(${test}_test PRIVATE ridge_check ridge GTest::gtest_main)
    add_test(NAME ${test} COMMAND ${test}_test)
    set_tests_properties(${test} PROPERTIES LABELS cpu)
  endforeach()
  set_tests_properties(locale PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no locale")
endif()

# Offsets, page tables and indices that nobody should give, of every operator that takes some.
if(RIDGE_TESTS)
  add_executable(untrusted_test ${CMAKE_CURRENT_LIST_DIR}/untrusted_test.cpp)
  ridge_test_options(untrusted_test)
  target_link_libraries(untrusted_test PRIVATE ridge_check ridge GTest::gtest_main)
  add_test(NAME untrusted COMMAND untrusted_test)
  set_tests_properties(untrusted PROPERTIES LABELS cpu)
endif()
