// Shuffles and atomics of __half, __nv_bfloat16 and their pairs.
#pragma once
#include <ridge/lab/device_atomics.hpp>
#include <ridge/lab/small_float_pair.hpp>
#include <ridge/lab/warp.hpp>

namespace ridge::lab {

template <class T> inline constexpr bool is_small = false;
template <class Format> inline constexpr bool is_small<SmallFloat<Format>> = true;
template <class Format> inline constexpr bool is_small<SmallPair<Format>> = true;

template <class T>
concept small_or_pair = is_small<T>;

}  // namespace ridge::lab

// ---- shuffles ----------------------------------------------------------------------------------------------------
template <ridge::lab::small_or_pair T>
T __shfl_sync(ridge::lab::lane_mask mask, T value, int source, int width = warpSize,
              ridge::lab::where at = ridge::lab::where::current()) {
  return ridge::lab::shuffle(mask, value, ridge::simt::detail::Source::index, source, width, at);
}
template <ridge::lab::small_or_pair T>
T __shfl_xor_sync(ridge::lab::lane_mask mask, T value, int bits, int width = warpSize,
                  ridge::lab::where at = ridge::lab::where::current()) {
  return ridge::lab::shuffle(mask, value, ridge::simt::detail::Source::flip, bits, width, at);
}
template <ridge::lab::small_or_pair T>
T __shfl_up_sync(ridge::lab::lane_mask mask, T value, unsigned distance, int width = warpSize,
                 ridge::lab::where at = ridge::lab::where::current()) {
  return ridge::lab::shuffle(mask, value, ridge::simt::detail::Source::up, static_cast<int>(distance), width, at);
}
template <ridge::lab::small_or_pair T>
T __shfl_down_sync(ridge::lab::lane_mask mask, T value, unsigned distance, int width = warpSize,
                   ridge::lab::where at = ridge::lab::where::current()) {
  return ridge::lab::shuffle(mask, value, ridge::simt::detail::Source::down, static_cast<int>(distance), width, at);
}

// ---- atomics -----------------------------------------------------------------------------------------------------
template <ridge::lab::small_or_pair T> T atomicAdd(T* p, std::type_identity_t<T> value) {
  return ridge::simt::detail::atomic_update(p, [value](T old) { return old + value; });
}
template <ridge::lab::small_or_pair T> T atomicAdd_block(T* p, std::type_identity_t<T> value) {
  return atomicAdd(p, value);
}
template <ridge::lab::small_or_pair T> T atomicAdd_system(T* p, std::type_identity_t<T> value) {
  return atomicAdd(p, value);
}
