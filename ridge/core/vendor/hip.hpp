// AMD's HIP. Names of attributes are its own, a graph is made by five arguments, shared memory needs no request, and
// shuffles take no mask.
#pragma once
#include <ridge/core/vendor/compiler.hpp>

#if RIDGE_GPU_COMPILER
#include <hip/hip_runtime.h>
#else
#include <hip/hip_runtime_api.h>
#endif

#define RIDGE_VENDOR(name) hip##name
#define RIDGE_VENDOR_SHUFFLES_BY_MASK 0
#include <ridge/core/vendor/calls.hpp>

namespace ridge::vendor {

using Backend = simt::Hip;
inline constexpr char product[] = "HIP";
using Properties = hipDeviceProp_t;
inline constexpr bool has_compute_capability = false;  // major and minor are there, and mean other things
inline constexpr int fp32_lanes = 64;                  // of a multiprocessor, where no model of the device says more

using Attribute = hipDeviceAttribute_t;
inline constexpr Attribute multiprocessors = hipDeviceAttributeMultiprocessorCount;
inline constexpr Attribute lanes_of_warp = hipDeviceAttributeWarpSize;
inline constexpr Attribute threads_of_multiprocessor = hipDeviceAttributeMaxThreadsPerMultiProcessor;
inline constexpr Attribute blocks_of_multiprocessor = hipDeviceAttributeMaxBlocksPerMultiProcessor;
inline constexpr Attribute registers_of_multiprocessor = hipDeviceAttributeMaxRegistersPerMultiprocessor;
inline constexpr Attribute shared_of_multiprocessor = hipDeviceAttributeMaxSharedMemoryPerMultiprocessor;
inline constexpr Attribute shared_reserved = hipDeviceAttributeReservedSharedMemPerBlock;
inline constexpr Attribute shared_of_block = hipDeviceAttributeMaxSharedMemoryPerBlock;
inline constexpr Attribute shared_on_request = hipDeviceAttributeSharedMemPerBlockOptin;
inline constexpr Attribute l2_bytes = hipDeviceAttributeL2CacheSize;
inline constexpr Attribute clock_khz = hipDeviceAttributeClockRate;
inline constexpr Attribute memory_clock_khz = hipDeviceAttributeMemoryClockRate;
inline constexpr Attribute memory_bus_bits = hipDeviceAttributeMemoryBusWidth;
inline constexpr Attribute has_memory_pools = hipDeviceAttributeMemoryPoolsSupported;

inline Error instantiate(GraphExec* exec, Graph g) { return hipGraphInstantiate(exec, g, nullptr, nullptr, 0); }

// 64 lanes (gfx9) unless the build says otherwise: the host pass of hipcc does not know the device's.
#ifndef RIDGE_HIP_WARP
#define RIDGE_HIP_WARP 64
#endif
inline constexpr bool asks_for_shared = false;  // a kernel may have all that there is
inline constexpr int warp = RIDGE_HIP_WARP;
using LaneMask = unsigned long long;

}  // namespace ridge::vendor
