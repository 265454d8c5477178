// What nvcc gives every CUDA file before its first line. `ridge lab` has g++ include it first.
#pragma once
#include <ridge/lab/traced_memory.hpp>
// Everything else comes after it:
#include <ridge/simt/simt.hpp>

#include <ridge/lab/vector_types.hpp>
// These need the types above:
#include <ridge/lab/device_atomics.hpp>
#include <ridge/lab/device_math.hpp>
#include <ridge/lab/runtime_api.hpp>
#include <ridge/lab/textures.hpp>
#include <ridge/lab/warp.hpp>
// This needs the runtime's:
#include <ridge/lab/launch.hpp>

// Before the program's own static objects, which may call CUDA in their constructors and destructors.
namespace ridge::lab {
[[maybe_unused]] static const struct ReportAtEnd {
  ReportAtEnd() { report_at_end(); }
} report_at_end_of_file;

// Loops become straight code where the trace counts basic blocks (unroll_text.hpp). Else it only takes time to compile.
// A function, since g++ expands no macro there.
constexpr int unrolled([[maybe_unused]] int times) {
#ifdef RIDGE_SIMT_TRACED
  return times;
#else
  return 0;
#endif
}
}  // namespace ridge::lab

// The file is compiled once, for the CPU alone, so its kernels need no linkage of their own; constants and variables
// of the device are ordinary ones.
#undef __global__
#define __global__ __attribute__((unused))
#undef __constant__
#define __constant__ __attribute__((unused))
#define __managed__
#undef __noinline__
#define __noinline__ __attribute__((noinline))
#define __inline_hint__
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define __nv_pure__
#define __device_builtin__
#define __nvcc_device__

// Files ask which of CUDA's headers they have.
#define __DRIVER_TYPES_H__
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__

// Files ask for these. 8.0 is what is emulated: Ampere's warp and copy instructions, and none of Hopper's.
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDA_ARCH__ 800
