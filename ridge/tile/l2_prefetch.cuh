// Prefetch to the L2 cache of rows that later blocks will read. A multiprocessor that sums a row up or stores it asks
// for nothing meanwhile, and where it has one row or two, memory waits for it: the copy engine then fetches what will
// be asked for next.
#pragma once
#include <ridge/core/vector_access.hpp>
#include <ridge/simt/simt.hpp>
#include <ridge/tile/l2_prefetch.hpp>

namespace ridge::tile {

// One thread calls. `bytes` of global memory from p on, both multiples of 16. Nothing waits for it. Before Hopper it
// does nothing.
__device__ __forceinline__ void prefetch_l2([[maybe_unused]] const void* p, [[maybe_unused]] unsigned bytes) {
#if RIDGE_CUDA_ARCH >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(p), "r"(bytes));
#endif
}

// The whole 16-byte vectors of a row, or of a slice of it.
template <class T> __device__ __forceinline__ void prefetch_row_l2(const T* row, std::int64_t cols) {
  constexpr std::uintptr_t vector = vector_bytes;
  const auto at = reinterpret_cast<std::uintptr_t>(row);
  const std::uintptr_t begin = (at + vector - 1) / vector * vector, end = (at + cols * sizeof(T)) / vector * vector;
  if (begin < end) prefetch_l2(reinterpret_cast<const void*>(begin), static_cast<unsigned>(end - begin));
}

}  // namespace ridge::tile
