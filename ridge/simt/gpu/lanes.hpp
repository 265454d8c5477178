// The three warp primitives that tile<N> stands on, with masks (CUDA and its like) and without (HIP).
#pragma once
#include <ridge/simt/backend.hpp>

namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {
namespace detail {

// On the CPU this is a source line; the device does not need it.
struct where {
  static constexpr __host__ __device__ where current() { return {}; }
};

using lane_word = unsigned;  // the word that one shuffle instruction carries

enum class Source : unsigned char { index, flip, up, down };

// A constant, because `warpSize` is a variable in nvcc, which divides by it at run time.
__device__ __forceinline__ int warp_width() { return native_warp; }

#if RIDGE_VENDOR_SHUFFLES_BY_MASK
template <int Width>
__device__ __forceinline__ lane_word shuffle_word(lane_mask mask, lane_word word, Source source, int operand, where) {
  switch (source) {
    case Source::index: return __shfl_sync(mask, word, operand, Width);
    case Source::flip: return __shfl_xor_sync(mask, word, operand, Width);
    case Source::up: return __shfl_up_sync(mask, word, operand, Width);
    default: return __shfl_down_sync(mask, word, operand, Width);
  }
}
__device__ __forceinline__ lane_mask ballot(lane_mask mask, bool predicate, where) {
  return __ballot_sync(mask, predicate);
}
__device__ __forceinline__ void sync_warp(lane_mask mask, where) { __syncwarp(mask); }
#else
template <int Width>
__device__ __forceinline__ lane_word shuffle_word(lane_mask, lane_word word, Source source, int operand, where) {
  switch (source) {
    case Source::index: return __shfl(word, operand, Width);
    case Source::flip: return __shfl_xor(word, operand, Width);
    case Source::up: return __shfl_up(word, operand, Width);
    default: return __shfl_down(word, operand, Width);
  }
}
__device__ __forceinline__ lane_mask ballot(lane_mask mask, bool predicate, where) {
  return __ballot(predicate) & mask;
}
// A wavefront runs in lockstep, so the barrier only has to keep memory operations from moving across it.
__device__ __forceinline__ void sync_warp(lane_mask, where) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
#endif

}  // namespace detail
}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
