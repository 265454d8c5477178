// vec<T, N>: N adjacent elements, moved by aligned accesses of at most 16 bytes.
#pragma once
#include <ridge/simt/backend.hpp>
#if RIDGE_SIMT_ON_CPU
#include <ridge/simt/cpu/runtime.hpp>
#else
#include <ridge/simt/gpu/lanes.hpp>
#endif

namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {

// Aligned to its size, at most 16 bytes: the widest access of a device, and the alignment that g++ may assume of a
// stack.
template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) vec {
  static_assert(N >= 1 && (sizeof(T) * N & (sizeof(T) * N - 1)) == 0, "a vec is a power of two of bytes");
  T v[N];
  __host__ __device__ constexpr T& operator[](int i) { return v[i]; }
  __host__ __device__ constexpr const T& operator[](int i) const { return v[i]; }
};

namespace detail {

// A vec access must be aligned to the vec; the CPU checks this, a device would fault.
template <class Vec>
__device__ __forceinline__ void check_alignment([[maybe_unused]] const volatile void* p, [[maybe_unused]] where at) {
#if RIDGE_SIMT_ON_CPU
  if (reinterpret_cast<std::uintptr_t>(p) % alignof(Vec) != 0) [[unlikely]]
    misaligned(p, alignof(Vec), at);
#endif
}

// The unsigned type of one streaming access of a vec; void: the vec does not consist of whole words.
template <std::size_t Bytes>
using stream_word =
    std::conditional_t<Bytes % 16 == 0, uint4,
                       std::conditional_t<Bytes == 8, uint2, std::conditional_t<Bytes == 4, unsigned, void>>>;

}  // namespace detail

template <int N, class T>
__device__ __forceinline__ vec<T, N> load(const T* p, detail::where at = detail::where::current()) {
  detail::check_alignment<vec<T, N>>(p, at);
  return *reinterpret_cast<const vec<T, N>*>(p);
}

template <int N, class T>
__device__ __forceinline__ void store(T* p, const vec<T, N>& value, detail::where at = detail::where::current()) {
  detail::check_alignment<vec<T, N>>(p, at);
  *reinterpret_cast<vec<T, N>*>(p) = value;
}

// The same for p in global memory, where 8 and 16 bytes are always one instruction. nvcc 13 splits store() into one
// store per register if the vec's words were computed separately (softmax stored 40 % of its bytes that way).
template <int N, class T>
__device__ __forceinline__ void store_global(T* p, const vec<T, N>& value,
                                             detail::where at = detail::where::current()) {
#if RIDGE_SIMT_ON_CUDA
  if constexpr (sizeof value % 16 == 0) {
    unsigned w[sizeof value / 4];
    memcpy(w, &value, sizeof value);
    RIDGE_UNROLL
    for (std::size_t i = 0; i < sizeof w / 4; i += 4)
      asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p) + 4 * i), "r"(w[i]),
                   "r"(w[i + 1]), "r"(w[i + 2]), "r"(w[i + 3])
                   : "memory");
  } else if constexpr (sizeof value == 8) {
    unsigned w[2];
    memcpy(w, &value, sizeof value);
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)), "r"(w[0]), "r"(w[1])
                 : "memory");
  } else {
    store(p, value, at);
  }
#else
  store(p, value, at);
#endif
}

// The same for data that is read or written once: on CUDA the cache line is evicted first (ld.cs, st.cs).
template <int N, class T>
__device__ __forceinline__ vec<T, N> load_streaming(const T* p, detail::where at = detail::where::current()) {
  using word = detail::stream_word<sizeof(T) * N>;
  if constexpr (RIDGE_SIMT_ON_CUDA && !std::is_void_v<word>) {
    word words[sizeof(T) * N / sizeof(word)];
    RIDGE_UNROLL
    for (std::size_t i = 0; i < sizeof words / sizeof(word); ++i)
      words[i] = __ldcs(reinterpret_cast<const word*>(p) + i);
    vec<T, N> value;
    memcpy(&value, words, sizeof value);
    return value;
  } else {
    return load<N>(p, at);
  }
}

template <int N, class T>
__device__ __forceinline__ void store_streaming(T* p, const vec<T, N>& value,
                                                detail::where at = detail::where::current()) {
  using word = detail::stream_word<sizeof(T) * N>;
  if constexpr (RIDGE_SIMT_ON_CUDA && !std::is_void_v<word>) {
    word words[sizeof(T) * N / sizeof(word)];
    memcpy(words, &value, sizeof value);
    RIDGE_UNROLL
    for (std::size_t i = 0; i < sizeof words / sizeof(word); ++i) __stcs(reinterpret_cast<word*>(p) + i, words[i]);
  } else {
    store(p, value, at);
  }
}

}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
