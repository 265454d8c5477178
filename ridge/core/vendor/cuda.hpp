// NVIDIA's CUDA.
#pragma once
#include <ridge/core/vendor/compiler.hpp>

#if RIDGE_GPU_COMPILER
#include <cuda_runtime.h>
#else
#include <cuda_runtime_api.h>
#endif

#define RIDGE_VENDOR(name) cuda##name
#define RIDGE_VENDOR_SHUFFLES_BY_MASK 1  // __shfl_sync(mask, ...) and not __shfl(...)
#include <ridge/core/vendor/cuda_like.hpp>

namespace ridge::vendor {

using Backend = simt::Cuda;
inline constexpr char product[] = "CUDA";
using Properties = cudaDeviceProp;
inline constexpr bool has_compute_capability = true;  // NVIDIA's; its instructions are chosen by it
inline constexpr int fp32_lanes = 128;                // of a multiprocessor, where no model of the device says more

inline constexpr bool asks_for_shared = true;  // a kernel with more than 48 KB of it
inline constexpr int warp = 32;
using LaneMask = unsigned;

}  // namespace ridge::vendor
