// The semaphore on the CPU runtime, where blocks begin in the order of their numbers.
#pragma once
#include <ridge/tile/sm90/arch.cuh>

#include <atomic>
#include <cstdint>

namespace ridge::tile::sm90 {

inline void semaphore_wait(const unsigned* word, unsigned turn) {
  while (std::atomic_ref<unsigned>(const_cast<unsigned&>(*word)).load(std::memory_order_acquire) != turn)
    simt::detail::yield();
}
inline void semaphore_release(unsigned* word, unsigned turn) {
  std::atomic_ref<unsigned>(*word).store(turn + 1, std::memory_order_release);
}

inline void add_floats(float* to, float a, float b, float c, float d) {
  if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0) simt::detail::misaligned(to, 16, simt::detail::where::current());
  const float values[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) std::atomic_ref<float>(to[i]).fetch_add(values[i], std::memory_order_relaxed);
}

}  // namespace ridge::tile::sm90
