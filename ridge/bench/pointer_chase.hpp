// Pointer chases, as the host sees them: the order of a chain's links, and what a walk comes back with.
#pragma once
#include <ridge/core/device.hpp>
#include <ridge/core/stream.hpp>

#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace ridge::bench {

// Readings of a multiprocessor's clock and of the device's timer.
struct Reading {
  std::int64_t cycles = 0, ns = 0;
};
struct Walk {
  std::int64_t at = 0;  // bytes from the chain's first link to the one where the walk ended
  Reading taken;
};

// For each link the one that follows it: one cycle through all of them in random order, so that no prefetcher knows the
// next (Sattolo's algorithm: a shuffle that swaps each link with one before it, never with itself).
inline std::vector<std::uint32_t> random_cycle(std::uint32_t links, std::uint32_t seed) {
  std::vector<std::uint32_t> next(links);
  std::iota(next.begin(), next.end(), 0u);
  std::mt19937 random(seed);
  for (std::uint32_t i = links; i-- > 1;) std::swap(next[i], next[random() % i]);
  return next;
}

// ---- cuda/pointer_chase.cu -----------------------------------------------------------------------------------------

// Ties links, `stride` bytes apart from `chain` on, in the order that `next` gives.
Status tie_links(const DeviceInfo&, void* chain, std::int64_t stride, const std::uint32_t* next, std::uint32_t links,
                 Stream);
// One thread walks `warm` links and then, timed, `steps` more.
Status walk_links(const DeviceInfo&, const void* chain, std::int64_t warm, std::int64_t steps, Walk*, Stream);
// The same over a chain of words in shared memory.
Status walk_shared(const DeviceInfo&, const std::uint32_t* next, std::uint32_t links, std::int64_t steps, Walk*,
                   Stream);

}  // namespace ridge::bench
