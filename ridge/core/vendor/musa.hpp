// Moore Threads' MUSA: CUDA's names with another word in front. Written after its public headers and the programs of
// others; compiled against a stand-in (test/), and never by its own compiler.
#pragma once
#include <ridge/core/vendor/compiler.hpp>

#if RIDGE_GPU_COMPILER
#include <musa_runtime.h>
#else
#include <musa_runtime_api.h>
#endif

#define RIDGE_VENDOR(name) musa##name
#define RIDGE_VENDOR_SHUFFLES_BY_MASK 1
#include <ridge/core/vendor/cuda_like.hpp>

namespace ridge::vendor {

using Backend = simt::Musa;
inline constexpr char product[] = "MUSA";
using Properties = musaDeviceProp;
inline constexpr bool has_compute_capability = false;  // versions are Moore Threads' own (mp_31 is 3.1)
inline constexpr int fp32_lanes = 128;                 // of a multiprocessor, where no model of the device says more

inline constexpr bool asks_for_shared = true;
inline constexpr int warp = 32;  // mp_31; earlier ones have 128, which Ridge's tiles do not know
using LaneMask = unsigned;

}  // namespace ridge::vendor
