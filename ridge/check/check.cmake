# Offsets beyond 2^31, of operators by name: on the CPU what is expected, on small tensors; on a GPU the large ones.
ridge_device_test(offsets offsets_test.cpp)
if(RIDGE_TESTS)
  set_tests_properties(offsets.gpu PROPERTIES RUN_SERIAL ON)
endif()
