# The trace mode of the CPU runtime (ridge/simt/trace): ridge::trace, and ridge-trace, which `ridge trace` runs.
#
# Kernels are compiled with the hooks of -fsanitize=thread and -fsanitize-coverage, and linked without the sanitizers'
# libraries. Nothing else is compiled twice: host code is taken from libridge, object by object.
if(NOT RIDGE_SIMT_MODE STREQUAL "plain" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  return()  # the hooks of two sanitizers do not mix, and the options below are g++'s
endif()
set(trace_flags -fsanitize=thread -fsanitize-coverage=trace-pc,trace-cmp
    # as few accesses as nvcc makes, each as wide as it was written, at a line, blocks in the order of the source
    -O1 -finline-small-functions -fno-tree-sra -fno-tree-vectorize -fno-store-merging -fno-reorder-blocks
    -DRIDGE_SIMT_TRACED  # shared memory is aligned alike in every program
    # inlined functions have lines with -g and not with -g1; variables need no record
    -g -fno-var-tracking
    -Wno-tsan)  # fences: the hooks see them

set(simt_trace hooks memory_map model recorder session shadow summary symbols)
list(TRANSFORM simt_trace PREPEND ${PROJECT_SOURCE_DIR}/ridge/simt/trace/)
list(TRANSFORM simt_trace APPEND .cpp)
add_library(ridge_trace_runtime OBJECT EXCLUDE_FROM_ALL ${simt_runtime} ${simt_trace})
target_compile_definitions(ridge_trace_runtime PRIVATE RIDGE_SIMT_TRACE)
target_include_directories(ridge_trace_runtime PRIVATE ${PROJECT_SOURCE_DIR})

# ridge_traced(TARGET): the objects of libridge, with the runtime that traces. The kernels are the caller's to choose.
function(ridge_traced target)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:ridge_trace_runtime>
    $<FILTER:$<TARGET_OBJECTS:ridge>,EXCLUDE,[.]cu[.]o$|simt/runtime/|simt/trace/none>)
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  add_dependencies(${target} ridge)
  if(RIDGE_HAS_CUDA)
    get_property(objects GLOBAL PROPERTY RIDGE_CUDA_OBJECTS)
    target_sources(${target} PRIVATE ${objects})
    target_link_libraries(${target} PRIVATE CUDA::cudart_static)
  elseif(RIDGE_HAS_HIP)
    get_property(objects GLOBAL PROPERTY RIDGE_HIP_OBJECTS)
    target_link_libraries(${target} PRIVATE ${objects} ridge_hip_runtime)
  endif()
endfunction()

# For programs with kernels of their own: link ridge::trace instead of ridge::ridge. What is compiled with it is
# traced; the operators' kernels, which are those of libridge, run and are not.
add_library(ridge_trace SHARED EXCLUDE_FROM_ALL)
add_library(ridge::trace ALIAS ridge_trace)
ridge_traced(ridge_trace)
target_sources(ridge_trace PRIVATE $<FILTER:$<TARGET_OBJECTS:ridge>,INCLUDE,[.]cu[.]o$>)
set_target_properties(ridge_trace PROPERTIES LINKER_LANGUAGE CXX)
target_include_directories(ridge_trace PUBLIC ${PROJECT_SOURCE_DIR})
target_compile_features(ridge_trace PUBLIC cxx_std_20)
target_compile_options(ridge_trace INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${trace_flags}>")
target_link_options(ridge_trace PRIVATE -Wl,-z,nodelete)

# The operators' kernels once more. As long to compile as the others, so they wait until somebody asks.
get_property(kernels GLOBAL PROPERTY RIDGE_KERNELS)
add_library(ridge_traced_kernels OBJECT EXCLUDE_FROM_ALL ${kernels})
target_include_directories(ridge_traced_kernels PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_options(ridge_traced_kernels PRIVATE ${trace_flags})
target_compile_definitions(ridge_traced_kernels PRIVATE $<TARGET_PROPERTY:ridge,COMPILE_DEFINITIONS>)

if(RIDGE_TESTS)
  set(trace_test ${PROJECT_SOURCE_DIR}/ridge/simt/test/trace)
  add_executable(simt_trace_test ${trace_test}/lockstep.cpp ${trace_test}/model.cpp ${PROJECT_SOURCE_DIR}/ridge/simt/trace/model.cpp)
  ridge_cpu_kernels(simt_trace_test ${trace_test}/accesses.cu ${trace_test}/findings.cu)
  target_link_libraries(simt_trace_test PRIVATE ridge::trace GTest::gtest_main Threads::Threads)
  add_test(NAME simt.trace COMMAND simt_trace_test)
  set_tests_properties(simt.trace PROPERTIES LABELS cpu)
endif()
