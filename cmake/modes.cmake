# Warnings, and what each mode of the CPU runtime is compiled with; RIDGE_KERNEL_OPTIONS: the kernels besides.
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra> $<$<COMPILE_LANGUAGE:CXX>:-Wshadow>
                    $<$<COMPILE_LANGUAGE:CXX>:-Wno-unknown-pragmas>)  # kernels say #pragma unroll
# GCC 12 sees an overlap in "text" + std::string(...) that is not there (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(RIDGE_WERROR)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()

# Kernels on the CPU runtime are no faster at -O3 (relu is three times slower with g++ 12), and compile longer.
add_compile_options($<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O2>)

# The modes' options; ridge/lab compiles users' files with them, whatever the mode of this build.
# Of UBSan's checks those of each pointer are for kernels: host code has AddressSanitizer, and takes g++ half as long again.
set(of_pointers null,alignment,object-size,vptr)
set(bounds_flags -fsanitize=address,undefined -fno-sanitize=${of_pointers} -fno-sanitize-recover=undefined -Og -g1)
set(bounds_kernel_flags -fsanitize=${of_pointers} -fno-sanitize-recover=undefined)
set(race_kernel_flags -fsanitize=thread -O1 -g1)

if(RIDGE_SIMT_MODE STREQUAL "bounds")
  # One worker, so that shared arrays are plain globals with redzones between them. At -O1 kernels take g++ twice as long.
  # g++ warns of what it does not follow in instrumented code.
  add_compile_definitions(RIDGE_SIMT_SERIAL)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${bounds_flags};-Wno-error>")
  set(RIDGE_KERNEL_OPTIONS ${bounds_kernel_flags})
  add_link_options(-fsanitize=address,undefined)
elseif(RIDGE_SIMT_MODE STREQUAL "race")
  # Every thread of a block is a fiber to TSan. The runtime beneath them is not to be seen (simt.cmake), and operators'
  # host code shares nothing between threads but what core and capi hold: compiled as in a plain build, a compiler's cache
  # has its objects.
  add_compile_definitions(RIDGE_SIMT_RACE)
  set(RIDGE_KERNEL_OPTIONS ${race_kernel_flags} -Wno-error)
  add_link_options(-fsanitize=thread)
elseif(NOT RIDGE_SIMT_MODE STREQUAL "plain")
  message(FATAL_ERROR "RIDGE_SIMT_MODE is '${RIDGE_SIMT_MODE}'; it must be plain, bounds or race")
endif()
