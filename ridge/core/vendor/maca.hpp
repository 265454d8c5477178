// MetaX's MACA: CUDA's calls with "mc" in front, HIP's spelling of attributes, and warps of 64 lanes. Compiled against
// a stand-in (test/), and never by its own compiler.
#pragma once
#include <ridge/core/vendor/compiler.hpp>

#if RIDGE_GPU_COMPILER
#include <mcr/mc_runtime.h>
#else
#include <mcr/mc_runtime_api.h>
#endif

#define RIDGE_VENDOR(name) mc##name
#define RIDGE_VENDOR_SHUFFLES_BY_MASK 1
#include <ridge/core/vendor/calls.hpp>

namespace ridge::vendor {

using Backend = simt::Maca;
inline constexpr char product[] = "MACA";
using Properties = mcDeviceProp_t;
inline constexpr bool has_compute_capability = false;
inline constexpr int fp32_lanes = 64;  // of a multiprocessor, where no model of the device says more

using Attribute = mcDeviceAttribute_t;
inline constexpr Attribute multiprocessors = mcDeviceAttributeMultiProcessorCount;
inline constexpr Attribute lanes_of_warp = mcDeviceAttributeWarpSize;
inline constexpr Attribute threads_of_multiprocessor = mcDeviceAttributeMaxThreadsPerMultiProcessor;
inline constexpr Attribute blocks_of_multiprocessor = mcDevAttrMaxBlocksPerMultiprocessor;
inline constexpr Attribute registers_of_multiprocessor = mcDeviceAttributeMaxRegistersPerMultiprocessor;
inline constexpr Attribute shared_of_multiprocessor = mcDeviceAttributeMaxSharedMemoryPerMultiprocessor;
inline constexpr Attribute shared_reserved = mcDeviceAttributeUnknow;  // the driver does not tell
inline constexpr Attribute shared_of_block = mcDeviceAttributeMaxSharedMemoryPerBlock;
inline constexpr Attribute shared_on_request = mcDeviceAttributeUnknow;
inline constexpr Attribute l2_bytes = mcDeviceAttributeL2CacheSize;
inline constexpr Attribute clock_khz = mcDeviceAttributeClockRate;
inline constexpr Attribute memory_clock_khz = mcDeviceAttributeMemoryClockRate;
inline constexpr Attribute memory_bus_bits = mcDeviceAttributeMemoryBusWidth;
inline constexpr Attribute has_memory_pools = mcDeviceAttributeMemoryPoolsSupported;

inline Error instantiate(GraphExec* exec, Graph g) { return mcGraphInstantiate(exec, g, nullptr, nullptr, 0); }

inline constexpr bool asks_for_shared = true;
inline constexpr int warp = 64;
using LaneMask = unsigned long long;

}  // namespace ridge::vendor
