// Detects the compiler of this translation unit, and so where its kernels run.
#pragma once
#include <ridge/core/backend.hpp>  // the tags Cpu, Cuda, Hip, ...
#include <ridge/core/vendor/compiler.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

// RIDGE_SIMT_SPACE is an inline namespace. libridge holds the same template twice, compiled by g++ and by a GPU's
// compiler with different bodies; the namespace keeps their symbols apart.
#if RIDGE_GPU_COMPILER
#include <ridge/core/vendor/vendor.hpp>
#define RIDGE_SIMT_SPACE on_gpu
#define RIDGE_SIMT_ON_CPU 0
#define RIDGE_SIMT_ON_CUDA RIDGE_VENDOR_IS_NVIDIA  // PTX and NVIDIA's intrinsics are there
#ifndef __grid_constant__
#define __grid_constant__  // for compilers that read a kernel's arguments from constant memory as it is
#endif
#else
#if defined(__HOST_DEFINES_H__) || defined(__VECTOR_TYPES_H__) || defined(HIP_INCLUDE_HIP_HIP_RUNTIME_H)
#error \
    "ridge/simt: a GPU vendor's header came before simt.hpp in a CPU translation unit; it defines __shared__ as \
nothing, so kernels would not share memory. Keep vendor headers out of units that g++ compiles."
#endif
#define RIDGE_SIMT_SPACE on_cpu
#define RIDGE_SIMT_ON_CPU 1
#define RIDGE_SIMT_ON_CUDA 0
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
#else
using vendor::Backend;
// A constant, in the host's pass as well: names with tile<native_warp> must mangle the same in both.
inline constexpr int native_warp = vendor::warp;
using lane_mask = vendor::LaneMask;
#if defined(__AMDGCN_WAVEFRONT_SIZE)
static_assert(__AMDGCN_WAVEFRONT_SIZE == native_warp, "build with -DRIDGE_HIP_WARP=32 for this architecture");
#endif
#endif

}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
