// Rows that are brought to the L2 cache shortly before the blocks that read them begin. A multiprocessor that sums a
// row up or stores it asks for nothing meanwhile, and where it has one row or two, memory waits for it: the copy engine
// then fetches what will be asked for next.
#pragma once
#include <ridge/simt/simt.hpp>
#include <ridge/tile/rows_ahead.hpp>

namespace ridge::tile {

// By one thread: bytes of global memory, whole units of 16. It waits for nothing. On Hopper; elsewhere it does nothing.
__device__ __forceinline__ void bring([[maybe_unused]] const void* units, [[maybe_unused]] unsigned bytes) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(units), "r"(bytes));
#endif
}

// The whole units of a row, or of a slice of it.
template <class T> __device__ __forceinline__ void bring_row(const T* row, std::int64_t cols) {
  constexpr std::uintptr_t unit = 16;
  const auto at = reinterpret_cast<std::uintptr_t>(row);
  const std::uintptr_t begin = (at + unit - 1) / unit * unit, end = (at + cols * sizeof(T)) / unit * unit;
  if (begin < end) bring(reinterpret_cast<const void*>(begin), static_cast<unsigned>(end - begin));
}

}  // namespace ridge::tile
