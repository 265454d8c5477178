// The cost of a request in the memory pipeline, by NVIDIA's rules (compute capability 7.0 to 9.0). Pure functions of
// the addresses that the lanes of a warp access together; README.md states the rules.
#pragma once
#include <ridge/simt/trace.hpp>
#include <ridge/simt/trace/lockstep.hpp>

#include <cstdint>

namespace ridge::simt::trace {

// One instruction of a warp: lane l, where its bit is set, accesses `bytes` bytes (1, 2, 4, 8 or 16) at at[l].
struct Request {
  std::uint64_t lanes = 0;
  int bytes = 0;
  const Address* at = nullptr;
};

struct Cost {
  int units = 0;  // sectors or wavefronts
  int least = 0;  // the least possible number for the same lanes, bytes and words
};

// Sectors of 32 bytes that the lanes touch. Least: the bytes, each counted once and packed.
Cost sectors(const Request&);

// Wavefronts of shared memory: 32 banks of four bytes each. Least: if no two words were in one bank.
Cost wavefronts(Kind, const Request&);

}  // namespace ridge::simt::trace
