// Turns of blocks on the CPU runtime, where blocks begin in the order of their numbers.
#pragma once
#include <ridge/tile/sm90/arch.cuh>

#include <atomic>

namespace ridge::tile::sm90 {

inline void await_turn(const unsigned* word, unsigned turn) {
  while (std::atomic_ref<unsigned>(const_cast<unsigned&>(*word)).load(std::memory_order_acquire) != turn)
    simt::detail::yield();
}
inline void end_turn(unsigned* word, unsigned turn) {
  std::atomic_ref<unsigned>(*word).store(turn + 1, std::memory_order_release);
}

}  // namespace ridge::tile::sm90
