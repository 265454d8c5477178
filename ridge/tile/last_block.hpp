// Blocks that share a result, which the last block to arrive finishes: what the host passes to them.
//
// Arrivals are counted from zero, but a workspace may hold anything. So the count shares a word with the number of its
// run: 48 bits that no other run of the process has, and 16 bits of count. A block that finds another number there
// overwrites the word with its own run's; the last to arrive leaves zero, so that a graph may run again under the
// number it was captured with. A word of unknown contents holds a run's number with a chance of 2^-48.
#pragma once
#include <atomic>
#include <cstdint>

namespace ridge::tile {

using Arrivals = unsigned long long;  // the word

inline constexpr int arrival_bits = 16;
inline constexpr std::int64_t most_arrivals = (std::int64_t{1} << arrival_bits) - 1;

// A different number in each call, never that of a word of zero.
inline Arrivals run_number() {
  static std::atomic<std::uint64_t> runs{0};
  // An odd factor maps 48 bits to 48 bits one to one, and small numbers, which memory is full of, to large ones.
  constexpr std::uint64_t factor = 0x9e3779b97f4b;
  const std::uint64_t run = runs.fetch_add(1, std::memory_order_relaxed) + 1;
  return static_cast<Arrivals>(run * factor << arrival_bits);
}

}  // namespace ridge::tile
