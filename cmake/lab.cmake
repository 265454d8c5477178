# What `ridge lab` compiles a user's CUDA file with: for each mode of the CPU runtime an archive, and a file of g++'s options,
# a line each. Both lie in one folder, of the build and of an installed package alike.
if(NOT RIDGE_SIMT_MODE STREQUAL "plain" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  return()  # the modes are compiled beside each other here; the trace is g++'s (trace.cmake)
endif()
set(lab ${PROJECT_SOURCE_DIR}/ridge/lab)
# What depends on the mode: what touches fibers, pages or shared memory. All else is compiled once.
set(lab_of_mode converge copies host_access memory pages poll ptx reporter session ptx/barriers ptx/copies ptx/matrices
  ptx/memory ptx/shared ptx/warp runtime_memory)
set(lab_of_all predict record records runtime_copy runtime_copy_names runtime_device runtime_errors runtime_graph runtime_kernels
  runtime_stream ptx/bits ptx/compare ptx/convert ptx/integers ptx/moves ptx/parse ptx/reals)
foreach(list lab_of_mode lab_of_all)
  list(TRANSFORM ${list} PREPEND ${lab}/)
  list(TRANSFORM ${list} APPEND .cpp)
endforeach()

# Plain C++ below the runtime, as in a build without CUDA: a user's program has its own cudaMalloc.
add_library(ridge_lab_core OBJECT ${core} ridge/core/gpu_none.cpp ridge/roofline/bound.cpp ridge/roofline/occupancy.cpp
  ridge/roofline/predict.cpp ${simt}/trace/report.cpp)
target_include_directories(ridge_lab_core PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_definitions(ridge_lab_core PRIVATE RIDGE_HAS_CUDA=0)
add_library(ridge_lab_common OBJECT ${lab_of_all})
target_include_directories(ridge_lab_common PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(ridge_lab_common PRIVATE nlohmann_json::nlohmann_json)
ridge_test_options(ridge_lab_common)  # -O1: none of it is in a hurry

set(RIDGE_LAB_FOLDER ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/ridge/lab)
set(lab_warnings -w)  # the file is its author's, and nvcc's warnings are others than g++'s

# ridge_lab_mode(MODE OPTIONS option... RUNTIME option... LINK option... SOURCES file...)
function(ridge_lab_mode mode)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OPTIONS;RUNTIME;LINK;SOURCES")
  add_library(ridge_lab_${mode} STATIC ${lab_of_mode} ${simt_runtime} ${arg_SOURCES}
    $<TARGET_OBJECTS:ridge_lab_common> $<TARGET_OBJECTS:ridge_lab_core>)
  target_include_directories(ridge_lab_${mode} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(ridge_lab_${mode} PRIVATE ${arg_RUNTIME})
  target_compile_definitions(ridge_lab_${mode} PRIVATE RIDGE_SIMT_RETURNED_PASS)
  set_target_properties(ridge_lab_${mode} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${RIDGE_LAB_FOLDER})
  list(JOIN arg_OPTIONS "\n" options)
  list(JOIN arg_LINK "\n" links)
  file(CONFIGURE OUTPUT ${RIDGE_LAB_FOLDER}/${mode}.options CONTENT "${options}\n" @ONLY)
  file(CONFIGURE OUTPUT ${RIDGE_LAB_FOLDER}/${mode}.link CONTENT "${links}\n" @ONLY)
  if(RIDGE_INSTALL)
    install(TARGETS ridge_lab_${mode} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/ridge/lab)
    install(FILES ${RIDGE_LAB_FOLDER}/${mode}.options ${RIDGE_LAB_FOLDER}/${mode}.link
      DESTINATION ${CMAKE_INSTALL_LIBDIR}/ridge/lab)
  endif()
endfunction()

set(not_traced ${simt}/trace/none.cpp ${simt}/trace/symbols.cpp)
ridge_lab_mode(run OPTIONS -O2 -g1 ${lab_warnings} SOURCES ${not_traced})
# What a kernel asks memset and memcpy for is seen where they are calls (ridge/lab/traced_memory.hpp).
ridge_lab_mode(trace OPTIONS ${trace_flags} -fno-builtin-memset -fno-builtin-memcpy -fno-builtin-memmove ${lab_warnings} RUNTIME -DRIDGE_SIMT_TRACE SOURCES ${simt_trace})
ridge_lab_mode(bounds OPTIONS -DRIDGE_SIMT_SERIAL -fno-omit-frame-pointer ${bounds_flags} ${bounds_kernel_flags} ${lab_warnings}
  RUNTIME -DRIDGE_SIMT_SERIAL -fsanitize=address -fno-omit-frame-pointer LINK -fsanitize=address,undefined
  SOURCES ${not_traced})
ridge_lab_mode(race OPTIONS -DRIDGE_SIMT_RACE ${race_kernel_flags} ${lab_warnings}
  RUNTIME -DRIDGE_SIMT_RACE LINK -fsanitize=thread SOURCES ${not_traced})

# What a user's file is compiled with, in the package: headers, and CUDA's own names for them.
if(RIDGE_INSTALL)
  install(DIRECTORY ${lab} DESTINATION ${ridge_include} FILES_MATCHING PATTERN "*.hpp")
  install(DIRECTORY ${lab}/include DESTINATION ${ridge_include}/lab)
endif()

# In a build the headers are those of the source.
file(CONFIGURE OUTPUT ${RIDGE_LAB_FOLDER}/sources CONTENT "${PROJECT_SOURCE_DIR}\n" @ONLY)
add_custom_target(ridge_lab DEPENDS ridge_lab_run ridge_lab_trace ridge_lab_bounds ridge_lab_race)

if(RIDGE_TESTS)
  add_executable(lab_test ${lab}/translate_test.cpp ${lab}/translate.cpp ${lab}/timed_test.cpp ${lab}/timed.cpp
    ${lab}/assembly_text.cpp ${lab}/launch_text.cpp ${lab}/shared_text.cpp ${lab}/source_text.cpp ${lab}/tokens.cpp
    ${lab}/unroll_text.cpp ${lab}/measured_test.cpp ${lab}/measured.cpp
    ${lab}/records_test.cpp ${lab}/runtime_api_test.cpp ${lab}/device_names_test.cpp)
  ridge_test_options(lab_test)
  ridge_cpu_kernels(lab_test ${lab}/cooperative_groups_test.cu ${lab}/wmma_test.cu ${lab}/async_test.cu ${lab}/ptx_test.cu)
  target_include_directories(lab_test PRIVATE ${PROJECT_SOURCE_DIR} ${lab}/include)
  target_link_libraries(lab_test PRIVATE ridge_lab_run GTest::gtest_main nlohmann_json::nlohmann_json
    Threads::Threads ${CMAKE_DL_LIBS})
  add_test(NAME lab COMMAND lab_test)
  set_tests_properties(lab PROPERTIES LABELS cpu)
endif()
