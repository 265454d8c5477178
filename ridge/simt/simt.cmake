# The CPU runtime (part of libridge), its tests and its benchmark.
set(simt ${PROJECT_SOURCE_DIR}/ridge/simt)
set(simt_runtime barrier block collective describe faults here pool scheduler settings stacks switch)
list(TRANSFORM simt_runtime PREPEND ${simt}/runtime/)
list(TRANSFORM simt_runtime APPEND .cpp)
target_sources(ridge PRIVATE ${simt_runtime} ${simt}/trace/report.cpp ${simt}/trace/none.cpp)

# A loop that becomes a call of memset is seen by ThreadSanitizer, which is not to see the runtime.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set_property(SOURCE ${simt_runtime} APPEND PROPERTY COMPILE_OPTIONS -fno-tree-loop-distribute-patterns)
endif()
# Stack switching does not work with hardware shadow stacks, so the library is marked as not supporting them.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_property(SOURCE ${simt_runtime} APPEND PROPERTY COMPILE_OPTIONS -fcf-protection=none)
endif()
# The workers live as long as the process, so their code must stay loaded after the last dlclose().
target_link_options(ridge PRIVATE -Wl,-z,nodelete)

add_executable(simt_bench EXCLUDE_FROM_ALL ${simt}/bench.cpp)
target_link_libraries(simt_bench PRIVATE ridge)

if(NOT RIDGE_TESTS)
  return()
endif()

# Compiled by every compiler and never run: checks that the whole vocabulary compiles.
add_library(simt_compile_check OBJECT)
ridge_cpu_kernels(simt_compile_check ${simt}/compile_check.cu)
target_link_libraries(simt_compile_check PRIVATE ridge)

set(simt_tests atomics cuda_names faults interrupt kernels launch misuse schedule tile vec)
list(TRANSFORM simt_tests PREPEND ${simt}/test/)
list(TRANSFORM simt_tests APPEND .cu)
add_executable(simt_test)
ridge_test_options(simt_test)
ridge_cpu_kernels(simt_test ${simt_tests})
target_link_libraries(simt_test PRIVATE ridge GTest::gtest_main Threads::Threads)
# ThreadSanitizer would wait a second at the end of each of these processes.
gtest_discover_tests(simt_test PROPERTIES LABELS cpu ENVIRONMENT TSAN_OPTIONS=atexit_sleep_ms=0)

# Runs each trial in its own process, where some system calls fail. Not with sanitizers, whose allocators end the
# process when a call fails.
if(RIDGE_SIMT_MODE STREQUAL "plain")
  add_executable(simt_scarce_test ${simt}/test/inject.cpp)
  ridge_test_options(simt_scarce_test)
  ridge_cpu_kernels(simt_scarce_test ${simt}/test/scarce.cu)
  target_link_libraries(simt_scarce_test PRIVATE ridge GTest::gtest_main ${CMAKE_DL_LIBS})
  add_test(NAME simt.scarce COMMAND simt_scarce_test)
  set_tests_properties(simt.scarce PROPERTIES LABELS cpu)
endif()

# A sanitizer's finding ends the process, so each such kernel runs in its own process.
add_executable(simt_misuse)
ridge_cpu_kernels(simt_misuse ${simt}/test/misuse_main.cu)
target_link_libraries(simt_misuse PRIVATE ridge)
function(simt_expect kernel pattern)
  add_test(NAME simt.misuse.${kernel} COMMAND simt_misuse ${kernel})
  set_tests_properties(simt.misuse.${kernel} PROPERTIES LABELS cpu TIMEOUT 60 PASS_REGULAR_EXPRESSION "${pattern}"
                       ENVIRONMENT "RIDGE_WATCHDOG_SECONDS=2;TSAN_OPTIONS=atexit_sleep_ms=0")
endfunction()
if(RIDGE_SIMT_MODE STREQUAL "bounds")
  set(line "misuse_main.cu:[0-9]+")
  simt_expect(shared_beyond_end "${line}:[0-9]+: runtime error: index 64 out of bounds for type 'float \\[64\\]'")
  simt_expect(shared_beyond_row "${line}:[0-9]+: runtime error: index 8 out of bounds for type 'float \\[8\\]'")
  simt_expect(shared_by_pointer "${line}:[0-9]+: runtime error: store to address 0x[0-9a-f]+ with insufficient space")
  simt_expect(dynamic_beyond_end "heap-buffer-overflow.*#0 0x[0-9a-f]+ in dynamic_beyond_end .*${line}")
  simt_expect(global_beyond_end "heap-buffer-overflow.*#0 0x[0-9a-f]+ in global_beyond_end .*${line}")
  simt_expect(misaligned_pointer "${line}:[0-9]+: runtime error: load of misaligned address 0x[0-9a-f]+ for type")
  simt_expect(endless_recursion "AddressSanitizer: stack-overflow.*#0 0x[0-9a-f]+ in recurse .*${line}")
elseif(RIDGE_SIMT_MODE STREQUAL "race")
  foreach(kernel missing_barrier missing_second_barrier missing_broadcast_barrier missing_syncwarp)
    simt_expect(${kernel} "ThreadSanitizer: data race.*#0 ${kernel} [^\n]*misuse_main.cu:[0-9]+")
  endforeach()
  simt_expect(spins "ridge: block .0,0,0., thread .0,0,0.: watchdog: no block of the grid completed in 2 s")
endif()
foreach(kernel good_syncwarp good_barriers good_atomics good_fence)
  simt_expect(${kernel} "^no error\n$")
endforeach()
