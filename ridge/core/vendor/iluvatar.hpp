// Iluvatar's CoreX: CUDA's own names, in headers of its own, and warps of 64 lanes. Compiled against a stand-in
// (test/), and never by its own compiler.
#pragma once
#include <ridge/core/vendor/compiler.hpp>

#if RIDGE_GPU_COMPILER
#include <cuda_runtime.h>
#else
#include <cuda_runtime_api.h>
#endif

#define RIDGE_VENDOR(name) cuda##name
#define RIDGE_VENDOR_SHUFFLES_BY_MASK 1
#include <ridge/core/vendor/cuda_like.hpp>

namespace ridge::vendor {

using Backend = simt::Iluvatar;
inline constexpr char product[] = "CoreX";
using Properties = cudaDeviceProp;
inline constexpr bool has_compute_capability = false;  // the driver names one, and NVIDIA's instructions are not there
inline constexpr int fp32_lanes = 64;                  // of a multiprocessor, where no model of the device says more

inline constexpr bool asks_for_shared = true;
inline constexpr int warp = 64;
using LaneMask = unsigned long long;

}  // namespace ridge::vendor
