// Asynchronous copies from global to shared memory (cp.async, from sm_80 on). Elsewhere the copy is done at once, which
// every correct use allows.
//
//   copy_async<16>(to, from, valid);  ...  commit_copies();  ...  wait_copies<1>();  __syncthreads();
#pragma once
#include <ridge/simt/simt.hpp>

#if RIDGE_SIMT_ON_CUDA && (RIDGE_CUDA_ARCH == 0 || RIDGE_CUDA_ARCH >= 800)  // 0: the host's pass
#define RIDGE_TILE_ASYNC_COPY 1
#else
#define RIDGE_TILE_ASYNC_COPY 0
#endif

namespace ridge::tile {

// Starts to copy `valid` bytes (0 to Bytes) and to set the rest of Bytes to zero. With 0 valid bytes `from` is not
// read and may point anywhere. Preconditions: Bytes is 4, 8 or 16, and both addresses are multiples of it.
template <int Bytes> __device__ __forceinline__ void copy_async(void* to_shared, const void* from, int valid = Bytes) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async copies 4, 8 or 16 bytes");
#if RIDGE_TILE_ASYNC_COPY
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(to_shared));
  if constexpr (Bytes == 16)  // past the L1 cache, which would not see these lines again
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(from), "n"(Bytes), "r"(valid)
                 : "memory");
#else
  using Word = simt::vec<unsigned, Bytes / 4>;
  simt::detail::check_alignment<Word>(to_shared, simt::detail::where::current());
  if (valid > 0) simt::detail::check_alignment<Word>(from, simt::detail::where::current());
  // memcpy, because the elements are of the caller's type, and an access as another would be reordered with theirs.
  Word value{};
  if (valid == Bytes) memcpy(&value, __builtin_assume_aligned(from, Bytes), Bytes);
  else if (valid > 0) memcpy(&value, from, static_cast<std::size_t>(valid));
  memcpy(__builtin_assume_aligned(to_shared, Bytes), &value, Bytes);
#endif
}

// Ends a group: the copies that this thread started since the group before.
__device__ __forceinline__ void commit_copies() {
#if RIDGE_TILE_ASYNC_COPY
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// Waits until at most `Pending` of this thread's latest groups are under way. A barrier after it does the same for
// other threads' copies.
template <int Pending> __device__ __forceinline__ void wait_copies() {
#if RIDGE_TILE_ASYNC_COPY
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
#endif
}

// Waits for all of this thread's copies, in groups or not.
__device__ __forceinline__ void wait_for_copies() {
#if RIDGE_TILE_ASYNC_COPY
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace ridge::tile
