# The package: libridge, the headers that a user's program or kernel needs, and what find_package() and pkg-config read.
# Nothing in it names the folder it was installed to, so it may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(ridge PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_include_directories(ridge PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
if(NOT RIDGE_INSTALL)
  return()
endif()
install(TARGETS ridge EXPORT ridge LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES LICENSE NOTICES.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# ---- headers -----------------------------------------------------------------------------------------------------
# Not check and bench, which tests stand on, and nothing that only libridge is made of.
set(ridge_include ${CMAKE_INSTALL_INCLUDEDIR}/ridge)
install(DIRECTORY capi/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ridge/core DESTINATION ${ridge_include} FILES_MATCHING PATTERN "*.hpp")
install(DIRECTORY ridge/roofline DESTINATION ${ridge_include} FILES_MATCHING PATTERN "*.hpp")
install(FILES ridge/tuning/tuned_plan.hpp DESTINATION ${ridge_include}/tuning)
install(DIRECTORY ridge/simt DESTINATION ${ridge_include} FILES_MATCHING PATTERN "*.hpp"
  PATTERN runtime EXCLUDE PATTERN test EXCLUDE PATTERN trace EXCLUDE)
if(RIDGE_HAS_CUDA)
  set(no_hopper)
else()
  set(no_hopper REGEX "/sm[0-9]+(_[^/]*\\.cuh)?$" EXCLUDE)  # only nvcc compiles it
endif()
foreach(folder tile ${ridge_operators})  # operators with their kernels, to be launched with a Config of one's own
  install(DIRECTORY ridge/${folder} DESTINATION ${ridge_include} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh"
    PATTERN "*case.hpp" EXCLUDE PATTERN "*cases.hpp" EXCLUDE PATTERN "*oracle.hpp" EXCLUDE
    PATTERN "sweep.hpp" EXCLUDE PATTERN "plan.hpp" EXCLUDE ${no_hopper})
endforeach()

# What plans ask of Hopper's copy engine is plain C++, which a package without its kernels has too.
install(FILES ridge/tile/sm90/image_map.hpp ridge/tile/sm90/swizzle.hpp DESTINATION ${ridge_include}/tile/sm90)

# ---- find_package(ridge) -------------------------------------------------------------------------------------------
set(ridge_package ${CMAKE_INSTALL_LIBDIR}/cmake/ridge)
install(EXPORT ridge NAMESPACE ridge:: FILE ridge-targets.cmake DESTINATION ${ridge_package})
configure_package_config_file(packaging/ridge-config.cmake.in ridge-config.cmake INSTALL_DESTINATION ${ridge_package})
write_basic_package_version_file(ridge-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ridge-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/ridge-config-version.cmake
  cmake/kernels.cmake DESTINATION ${ridge_package})

# ---- pkg-config ----------------------------------------------------------------------------------------------------
cmake_path(SET ridge_pc_to_prefix NORMALIZE ${CMAKE_INSTALL_PREFIX})
cmake_path(RELATIVE_PATH ridge_pc_to_prefix BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
configure_file(packaging/ridge.pc.in ridge.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ridge.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ---- the package, used as its users would --------------------------------------------------------------------------
# The sanitizers' builds of libridge are for tests; the programs call these two operators.
if(RIDGE_TESTS AND RIDGE_SIMT_MODE STREQUAL "plain" AND
   "softmax" IN_LIST ridge_operators AND "histogram" IN_LIST ridge_operators)
  foreach(part installed subdirectory)
    add_test(NAME package.${part} COMMAND ${PROJECT_SOURCE_DIR}/packaging/check.sh ${part} ${CMAKE_BINARY_DIR})
    set_tests_properties(package.${part} PROPERTIES LABELS cpu)
  endforeach()
endif()

# The names that libridge exports are those that were agreed on. Of all operators; a build with CUDA has a few more.
if(RIDGE_TESTS AND RIDGE_SIMT_MODE STREQUAL "plain" AND NOT RIDGE_OPERATORS AND NOT RIDGE_HAS_CUDA)
  add_test(NAME package.abi COMMAND ${PROJECT_SOURCE_DIR}/packaging/abi.sh $<TARGET_FILE:ridge>)
  set_tests_properties(package.abi PROPERTIES LABELS cpu)
endif()
