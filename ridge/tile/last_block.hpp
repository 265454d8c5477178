// Blocks that share a result, of which the last one to arrive finishes it: what the host has to say to them.
//
// Arrivals are counted from zero, and a workspace's contents may be anything. So a count lies in one word with the
// number of the run that it belongs to: 48 bits that no other run of the process has, and 16 of the count. A block that
// finds another number there makes the word its run's, and what was in it is gone; the last to arrive leaves zero, so
// that a graph may run again under the number it was captured with. A word that nobody of Ridge wrote holds a run's
// number by a chance of 2^-48.
#pragma once
#include <atomic>
#include <cstdint>

namespace ridge::tile {

using Arrivals = unsigned long long;  // the word

inline constexpr int arrival_bits = 16;
inline constexpr std::int64_t most_arrivals = (std::int64_t{1} << arrival_bits) - 1;

// Another one in each call, never the one that zero would have.
inline Arrivals run_number() {
  static std::atomic<std::uint64_t> runs{0};
  // An odd factor maps 48 bits to 48 bits one to one, and small numbers, as memory is full of, to others.
  constexpr std::uint64_t factor = 0x9e3779b97f4b;
  const std::uint64_t run = runs.fetch_add(1, std::memory_order_relaxed) + 1;
  return static_cast<Arrivals>(run * factor << arrival_bits);
}

}  // namespace ridge::tile
