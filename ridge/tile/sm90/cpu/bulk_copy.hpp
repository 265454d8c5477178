// Bulk copies on the CPU runtime: done when they are started, by the thread that starts them.
#pragma once
#include <ridge/tile/sm90/mbarrier.cuh>

#include <atomic>
#include <cstring>

namespace ridge::tile::sm90 {

namespace detail {

inline void check_bulk(const void* p, unsigned bytes) {
  if ((reinterpret_cast<std::uintptr_t>(p) | bytes) % 16 != 0)
    simt::detail::misaligned(p, 16, simt::detail::where::current());
}

}  // namespace detail

inline void copy_bulk(void* to, const void* from, unsigned bytes, Barrier* full) {
  detail::check_bulk(to, bytes);
  detail::check_bulk(from, bytes);
  std::memcpy(to, from, bytes);
  detail::arrived_bytes(full, static_cast<int>(bytes));
}

inline void store_bulk(void* to, const void* from, unsigned bytes) {
  detail::check_bulk(to, bytes);
  detail::check_bulk(from, bytes);
  std::memcpy(to, from, bytes);
}
inline void add_bulk(float* to, const void* from, unsigned bytes) {
  detail::check_bulk(to, bytes);
  detail::check_bulk(from, bytes);
  for (unsigned i = 0; i < bytes / sizeof(float); ++i) {
    float value;
    std::memcpy(&value, static_cast<const char*>(from) + i * sizeof value, sizeof value);
    std::atomic_ref<float>(to[i]).fetch_add(value, std::memory_order_relaxed);
  }
}

// There are no clusters: a block is its own.
inline void send(void* to, unsigned, unsigned word, unsigned number) {
  const unsigned pair[] = {word, number};
  std::memcpy(to, pair, sizeof pair);
}
inline unsigned receive(const void* from, unsigned) {
  unsigned word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

}  // namespace ridge::tile::sm90
