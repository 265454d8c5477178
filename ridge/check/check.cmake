# Offsets beyond 2^31, for operators by name: large tensors on a GPU; on the CPU the same checks on small tensors.
ridge_device_test(offsets offsets_test.cpp)
if(RIDGE_TESTS)
  set_tests_properties(offsets.gpu PROPERTIES RUN_SERIAL ON)
endif()

# For every operator with a case book: repeatability, and allocations that fail. Not in the sanitizers' builds, which
# would find nothing new about repeatability and have allocators of their own.
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

# Random problems such as models have, for every operator with a sweep.hpp.
if(RIDGE_TESTS)
  add_executable(sweep_test ${CMAKE_CURRENT_LIST_DIR}/sweep_test.cpp)
  ridge_test_options(sweep_test)
  target_link_libraries(sweep_test PRIVATE ridge_check ridge GTest::gtest_main)
  add_test(NAME sweep COMMAND sweep_test --gtest_filter=-*OnGpu*)
  add_test(NAME sweep.gpu COMMAND sweep_test --gtest_filter=*OnGpu*)
  set_tests_properties(sweep PROPERTIES LABELS cpu)
  set_tests_properties(sweep.gpu PROPERTIES LABELS gpu SKIP_REGULAR_EXPRESSION "skipped: no GPU")
endif()

# For every operator by name: plans on every device model, refused options, independence of the locale, sizes that no memory has, and sizes of 0; and
# the parts of `ridge fuzz`, which tries random cases.
if(RIDGE_TESTS)
  foreach(test devices options locale extremes zero_sizes fuzz)
    add_executable(${test}_test ${CMAKE_CURRENT_LIST_DIR}/${test}_test.cpp)
    ridge_test_options(${test}_test)
    target_link_libraries(${test}_test PRIVATE ridge_check ridge GTest::gtest_main)
    add_test(NAME ${test} COMMAND ${test}_test)
    set_tests_properties(${test} PROPERTIES LABELS cpu)
  endforeach()
  set_tests_properties(locale PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no locale")
endif()

# Hostile offsets, page tables and indices, for every operator that takes some.
if(RIDGE_TESTS)
  add_executable(untrusted_test ${CMAKE_CURRENT_LIST_DIR}/untrusted_test.cpp)
  ridge_test_options(untrusted_test)
  target_link_libraries(untrusted_test PRIVATE ridge_check ridge GTest::gtest_main)
  add_test(NAME untrusted COMMAND untrusted_test)
  set_tests_properties(untrusted PROPERTIES LABELS cpu)
endif()
