# ridge_cpu_kernels(TARGET FILE.cu...): the kernels as C++, for the CPU runtime. Installed, for users' kernels.
function(ridge_cpu_kernels target)
  foreach(source ${ARGN})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_LIST_DIR})
    set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_OPTIONS "-xc++;${RIDGE_KERNEL_OPTIONS}")
    target_sources(${target} PRIVATE ${source})
  endforeach()
endfunction()
