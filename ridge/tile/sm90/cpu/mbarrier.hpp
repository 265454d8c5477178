// mbarrier on the CPU runtime: one word, and waiting lets the block's other threads run.
#pragma once
#include <ridge/tile/sm90/arch.cuh>

#include <atomic>
#include <bit>

namespace ridge::tile::sm90 {

using Barrier = std::uint64_t;

namespace detail {

struct BarrierState {
  std::int32_t bytes;      // still to come, of this phase
  std::uint16_t arrivals;  // of a phase
  std::uint16_t missing : 15, parity : 1;
};
static_assert(sizeof(BarrierState) == sizeof(Barrier));

// Threads of a block share an OS thread; the atomics are what ThreadSanitizer sees the order by.
template <class Change> void change(Barrier* b, Change apply) {
  std::atomic_ref<Barrier> word(*b);
  BarrierState s = std::bit_cast<BarrierState>(word.load(std::memory_order_acquire));
  apply(s);
  if (s.missing == 0 && s.bytes == 0) {
    s.missing = s.arrivals & 0x7fff;
    s.parity ^= 1;
  }
  word.exchange(std::bit_cast<Barrier>(s), std::memory_order_acq_rel);
}
inline void arrived_bytes(Barrier* b, int bytes) {
  change(b, [=](BarrierState& s) { s.bytes -= bytes; });
}

}  // namespace detail

inline void init(Barrier* b, unsigned arrivals) {
  const auto n = static_cast<std::uint16_t>(arrivals);
  std::atomic_ref<Barrier>(*b).store(
      std::bit_cast<Barrier>(detail::BarrierState{0, n, static_cast<std::uint16_t>(n & 0x7fff), 0}),
      std::memory_order_release);
}
inline void fence_init() {}
inline void arrive_and_expect_tx(Barrier* b, unsigned bytes) {
  detail::change(b, [=](detail::BarrierState& s) {
    s.bytes += static_cast<int>(bytes);
    s.missing = static_cast<std::uint16_t>(s.missing - 1) & 0x7fff;
  });
}
inline void arrive(Barrier* b) { arrive_and_expect_tx(b, 0); }
inline void arrive_at(Barrier* b, unsigned /*rank: of the only block*/) { arrive(b); }
inline void wait(Barrier* b, unsigned parity) {
  std::atomic_ref<Barrier> word(*b);
  while (std::bit_cast<detail::BarrierState>(word.load(std::memory_order_acquire)).parity == parity)
    simt::detail::yield();
}

}  // namespace ridge::tile::sm90
