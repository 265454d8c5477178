# The C ABI (part of libridge) and its test.
set(capi ${PROJECT_SOURCE_DIR}/capi)
target_sources(ridge PRIVATE ${capi}/dlpack_view.cpp ${capi}/ridge_c.cpp)
target_include_directories(ridge PUBLIC $<BUILD_INTERFACE:${capi}/include>)
set_property(SOURCE ${capi}/dlpack_view.cpp ${capi}/ridge_c.cpp APPEND PROPERTY COMPILE_OPTIONS ${RIDGE_KERNEL_OPTIONS})
set_property(SOURCE ${capi}/ridge_c.cpp APPEND PROPERTY COMPILE_DEFINITIONS RIDGE_VERSION="${PROJECT_VERSION}")

if(RIDGE_TESTS)
  find_package(nlohmann_json REQUIRED)
  add_executable(capi_test ${capi}/test/allocations.cpp ${capi}/test/capi_test.cpp
    ${capi}/test/softmax_test.cpp)
  target_compile_definitions(capi_test PRIVATE RIDGE_VERSION="${PROJECT_VERSION}"
                                             RIDGE_HAS_CUDA=$<BOOL:${RIDGE_HAS_CUDA}>
                                             RIDGE_HAS_HIP=$<BOOL:${RIDGE_HAS_HIP}>)
  target_link_libraries(capi_test PRIVATE ridge GTest::gtest_main nlohmann_json::nlohmann_json Threads::Threads)
  add_test(NAME capi COMMAND capi_test --gtest_filter=-CapiOnGpu.*)
  add_test(NAME capi.gpu COMMAND capi_test --gtest_filter=CapiOnGpu.*)
  set_tests_properties(capi PROPERTIES LABELS cpu)
  set_tests_properties(capi.gpu PROPERTIES LABELS gpu SKIP_REGULAR_EXPRESSION "skipped: no GPU")
endif()
