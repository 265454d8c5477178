// Detects the compiler of this translation unit, and so where its kernels run.
#pragma once
#include <ridge/core/backend.hpp>  // the tags Cpu, Cuda and Hip

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// RIDGE_SIMT_SPACE is an inline namespace. libridge holds the same template twice, compiled by g++ and by nvcc with
// different bodies; the namespace keeps their symbols apart.
#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define RIDGE_SIMT_ON_HIP 1
#ifndef __grid_constant__
#define __grid_constant__  // HIP reads a kernel's arguments from constant memory as it is
#endif
#define RIDGE_SIMT_SPACE on_hip
#elif defined(__CUDACC__)
#include <cuda_runtime.h>
#define RIDGE_SIMT_ON_CUDA 1
#define RIDGE_SIMT_SPACE on_cuda
#else
#if defined(__HOST_DEFINES_H__) || defined(__VECTOR_TYPES_H__) || defined(HIP_INCLUDE_HIP_HIP_RUNTIME_H)
#error \
    "ridge/simt: a GPU vendor's header came before simt.hpp in a CPU translation unit; it defines __shared__ as \
nothing, so kernels would not share memory. Keep vendor headers out of units that g++ compiles."
#endif
#define RIDGE_SIMT_ON_CPU 1
#define RIDGE_SIMT_SPACE on_cpu
#endif

#ifndef RIDGE_SIMT_ON_CPU
#define RIDGE_SIMT_ON_CPU 0
#endif
#ifndef RIDGE_SIMT_ON_CUDA
#define RIDGE_SIMT_ON_CUDA 0
#endif
#ifndef RIDGE_SIMT_ON_HIP
#define RIDGE_SIMT_ON_HIP 0
#endif

// Unrolls the loop that follows, in every compiler's spelling.
#if RIDGE_SIMT_ON_CPU && !defined(__clang__)
#define RIDGE_UNROLL _Pragma("GCC unroll 16")
#else
#define RIDGE_UNROLL _Pragma("unroll")
#endif

// The same on GPUs only, for loops whose arrays must be in registers: g++ does not need that and would compile slowly.
#if RIDGE_SIMT_ON_CPU
#define RIDGE_UNROLL_ON_GPU
#define RIDGE_KEEP_LOOP
#else
#define RIDGE_UNROLL_ON_GPU _Pragma("unroll")
#define RIDGE_KEEP_LOOP _Pragma("unroll 1")  // keeps the loop, for the instruction cache
#endif

namespace ridge::simt {

inline namespace RIDGE_SIMT_SPACE {

#if RIDGE_SIMT_ON_CPU
using Backend = Cpu;
inline constexpr int native_warp = 32;
using lane_mask = std::uint64_t;  // lanes of a warp, and result of a ballot; 64 lanes are possible at run time
#elif RIDGE_SIMT_ON_CUDA
using Backend = Cuda;
inline constexpr int native_warp = 32;
using lane_mask = unsigned;
#else
using Backend = Hip;
// The host pass of hipcc does not know the device's wavefront, and names with tile<native_warp> must mangle the same in
// both passes: 64 (gfx9) unless the build says otherwise.
#ifndef RIDGE_HIP_WARP
#define RIDGE_HIP_WARP 64
#endif
inline constexpr int native_warp = RIDGE_HIP_WARP;
using lane_mask = unsigned long long;
#if defined(__AMDGCN_WAVEFRONT_SIZE)
static_assert(__AMDGCN_WAVEFRONT_SIZE == RIDGE_HIP_WARP, "build with -DRIDGE_HIP_WARP=32 for this architecture");
#endif
#endif

}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
