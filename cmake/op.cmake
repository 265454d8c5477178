include(${CMAKE_CURRENT_LIST_DIR}/kernels.cmake)  # ridge_cpu_kernels()

# What only tests are compiled of runs once: at -O1 g++ takes a third less time for emulated kernels, which run nearly as
# fast. The bounds mode has a level of its own.
function(ridge_test_options target)
  if(NOT RIDGE_SIMT_MODE STREQUAL "bounds")
    target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  endif()
endfunction()

# ridge_operator(SOURCES plan.cpp op.cpp KERNELS x.cu [CUDA_KERNELS sm90_x.cu] [PEERS peers.cu] [TESTS plan_test.cpp])
# puts the folder of the calling op.cmake into the library, the command line and the tests:
#   SOURCES  host code of libridge                KERNELS  compiled by g++ for the CPU, and by nvcc or hipcc where there is one
#   NEEDS    operators whose plans it runs: a build of some operators has them too
#   CUDA_KERNELS  compiled by nvcc alone: instructions of one architecture, which the CPU runtime does not have
#   bench.cpp (found) registers the case book     PEERS    other people's kernels to measure beside; CUDA only
#   test.cpp (found) becomes FOLDER_test, with TESTS, run once for the CPU and once, labelled gpu, for the GPU
function(ridge_operator)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "SOURCES;NEEDS;KERNELS;CUDA_KERNELS;PEERS;TESTS")
  set(folder ${CMAKE_CURRENT_LIST_DIR})
  get_filename_component(name ${folder} NAME)
  list(TRANSFORM arg_SOURCES PREPEND ${folder}/)
  list(TRANSFORM arg_KERNELS PREPEND ${folder}/)
  list(TRANSFORM arg_CUDA_KERNELS PREPEND ${folder}/)
  list(TRANSFORM arg_PEERS PREPEND ${folder}/)
  list(TRANSFORM arg_TESTS PREPEND ${folder}/)
  target_sources(ridge PRIVATE ${arg_SOURCES})
  list(APPEND ridge_operators ${name})
  set(ridge_operators ${ridge_operators} PARENT_SCOPE)
  set(ridge_needed ${ridge_needed} ${arg_NEEDS} PARENT_SCOPE)
  ridge_cpu_kernels(ridge ${arg_KERNELS})
  set_property(GLOBAL APPEND PROPERTY RIDGE_KERNELS ${arg_KERNELS})
  set_property(GLOBAL APPEND PROPERTY RIDGE_CUDA_ONLY_KERNELS ${arg_CUDA_KERNELS})
  if(arg_PEERS)
    set_property(GLOBAL APPEND PROPERTY RIDGE_CUDA_PEERS ${arg_PEERS})
  endif()
  target_sources(ridge_check PRIVATE ${folder}/bench.cpp)
  if(RIDGE_TESTS)
    add_executable(${name}_test ${folder}/test.cpp ${arg_TESTS})
    ridge_test_options(${name}_test)
    target_link_libraries(${name}_test PRIVATE ridge_gtest ridge_check ridge)
    add_test(NAME ${name} COMMAND ${name}_test --gtest_filter=-*.cuda*)
    add_test(NAME ${name}.gpu COMMAND ${name}_test --gtest_filter=*.cuda*)
    set_tests_properties(${name} PROPERTIES LABELS cpu)
    set_tests_properties(${name}.gpu PROPERTIES LABELS gpu SKIP_REGULAR_EXPRESSION "skipped: no GPU")
  endif()
endfunction()

# ridge_device_test(NAME FILE.cpp) makes tests of the library on the CPU and on a GPU, from suites instantiated as `cpu`
# and `cuda`; what is of neither runs with the CPU's.
function(ridge_device_test name source)
  if(RIDGE_TESTS)
    add_executable(${name}_test ${CMAKE_CURRENT_LIST_DIR}/${source})
    ridge_test_options(${name}_test)
    target_link_libraries(${name}_test PRIVATE ridge GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name}_test --gtest_filter=-cuda/*)
    add_test(NAME ${name}.gpu COMMAND ${name}_test --gtest_filter=cuda/*)
    set_tests_properties(${name} PROPERTIES LABELS cpu)
    set_tests_properties(${name}.gpu PROPERTIES LABELS gpu SKIP_REGULAR_EXPRESSION "skipped: no GPU")
  endif()
endfunction()

# ridge_kernel_test(NAME FILE.cu) makes a test, run as NAME, of kernels that it compiles itself for the CPU runtime.
function(ridge_kernel_test name source)
  if(RIDGE_TESTS)
    add_executable(${name}_test)
    ridge_test_options(${name}_test)
    ridge_cpu_kernels(${name}_test ${CMAKE_CURRENT_LIST_DIR}/${source})
    target_link_libraries(${name}_test PRIVATE ridge GTest::gtest_main)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES LABELS cpu)
  endif()
endfunction()
