// What CUDA, and the vendors that kept its spelling, have beside calls.hpp: names of a device's attributes, and graphs
// made by three arguments.
#pragma once
#include <ridge/core/vendor/calls.hpp>

namespace ridge::vendor {

using Attribute = RIDGE_VENDOR(DeviceAttr);
inline constexpr Attribute multiprocessors = RIDGE_VENDOR(DevAttrMultiProcessorCount);
inline constexpr Attribute lanes_of_warp = RIDGE_VENDOR(DevAttrWarpSize);
inline constexpr Attribute threads_of_multiprocessor = RIDGE_VENDOR(DevAttrMaxThreadsPerMultiProcessor);
inline constexpr Attribute blocks_of_multiprocessor = RIDGE_VENDOR(DevAttrMaxBlocksPerMultiprocessor);
inline constexpr Attribute registers_of_multiprocessor = RIDGE_VENDOR(DevAttrMaxRegistersPerMultiprocessor);
inline constexpr Attribute shared_of_multiprocessor = RIDGE_VENDOR(DevAttrMaxSharedMemoryPerMultiprocessor);
inline constexpr Attribute shared_reserved = RIDGE_VENDOR(DevAttrReservedSharedMemoryPerBlock);
inline constexpr Attribute shared_of_block = RIDGE_VENDOR(DevAttrMaxSharedMemoryPerBlock);
inline constexpr Attribute shared_on_request = RIDGE_VENDOR(DevAttrMaxSharedMemoryPerBlockOptin);
inline constexpr Attribute l2_bytes = RIDGE_VENDOR(DevAttrL2CacheSize);
inline constexpr Attribute clock_khz = RIDGE_VENDOR(DevAttrClockRate);
inline constexpr Attribute memory_clock_khz = RIDGE_VENDOR(DevAttrMemoryClockRate);
inline constexpr Attribute memory_bus_bits = RIDGE_VENDOR(DevAttrGlobalMemoryBusWidth);
inline constexpr Attribute has_memory_pools = RIDGE_VENDOR(DevAttrMemoryPoolsSupported);

inline Error instantiate(GraphExec* exec, Graph g) { return RIDGE_VENDOR(GraphInstantiateWithFlags)(exec, g, 0); }

}  // namespace ridge::vendor
