// Barriers of some of a block's threads on the CPU runtime. A block has 16 of them, and they are fresh when it begins.
#pragma once
#include <ridge/tile/sm90/arch.cuh>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ridge::tile::sm90 {

namespace detail {

inline constexpr int named_barriers = 16, warpgroups = 8;

// What a multiprocessor has for a block besides memory; a block never leaves its OS thread.
struct BlockUnits {
  std::atomic<std::size_t> block{0};
  struct {
    std::atomic<unsigned> arrived{0}, phase{0}, threads{0};
  } barrier[named_barriers + warpgroups];  // and one of each warpgroup's that the emulation itself needs
};
inline BlockUnits& block_units() {
  static thread_local BlockUnits units;
  if (const std::size_t block = simt::detail::block_number(); units.block != block) {
    units.block = block;
    for (auto& b : units.barrier) b.arrived = b.phase = 0;
  }
  return units;
}

// Returns the phase that the arrival belongs to. All arrivals of a phase name the same number of threads: a GPU ends
// the kernel for another one, as an illegal instruction.
inline unsigned arrive_at_named(int id, unsigned threads) {
  auto& b = block_units().barrier[id];
  const unsigned phase = b.phase;
  if (b.arrived == 0) b.threads = threads;
  if (b.threads != threads) {
    std::fprintf(stderr, "ridge: barrier %d of %u threads is used with %u\n", id, unsigned{b.threads}, threads);
    std::abort();
  }
  if (++b.arrived == threads) {
    b.arrived = 0;
    ++b.phase;
  }
  return phase;
}
inline void sync_named(int id, unsigned threads) {
  const unsigned phase = arrive_at_named(id, threads);
  const auto& b = block_units().barrier[id];
  while (b.phase == phase) simt::detail::yield();
}

}  // namespace detail

inline bool is_elected() { return threadIdx.x % 32 == 0; }

template <int Registers> void dealloc_registers() {}
template <int Registers> void alloc_registers() {}

// A block is a cluster of its own.
inline unsigned cluster_rank() { return 0; }
inline unsigned cluster_size() { return 1; }
inline void cluster_sync_relaxed() { __syncthreads(); }
inline void cluster_sync() { __syncthreads(); }

inline void sync_warpgroup(int id) { detail::sync_named(id, warpgroup_threads); }
template <int Threads> void named_barrier_sync(int id) { detail::sync_named(id, Threads); }
template <int Threads> void named_barrier_arrive(int id) { detail::arrive_at_named(id, Threads); }

inline void store_matrices(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  const unsigned lane = threadIdx.x % 32, words[] = {a, b, c, d};
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned row = __shfl_sync(~0u, to, static_cast<int>(i * 8 + lane / 4));
    if (row % 16 != 0) simt::detail::misaligned(swizzled_shared() + row, 16, simt::detail::where::current());
    std::memcpy(swizzled_shared() + row + lane % 4 * 4, words + i, sizeof words[i]);
  }
}

}  // namespace ridge::tile::sm90
