// Counts that are held: a file beside an operator's kernels says what each asks of memory, and tracing it again must
// give the same. A line is
//
//   CASE:variant=ROW | sectors | least | wavefronts | least | why more than the least
//
// with sectors of global memory (32 bytes) and wavefronts of shared memory. What is more than the least has its reason
// in the last column. '#' begins a comment; a line of nothing but a case is one to be counted.
#pragma once
#include <ridge/core/status.hpp>
#include <ridge/simt/trace.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ridge::cli {

struct MemoryCounts {
  std::int64_t sectors = 0, least_sectors = 0, wavefronts = 0, least_wavefronts = 0;
  bool operator==(const MemoryCounts&) const = default;
};

// Of all launches. Neighbouring words of shared memory count as nvcc makes them: in one instruction.
MemoryCounts counts_of(const simt::trace::Report&);

// What the operators' folders held when this program was built: cases with their variant, in the files' order.
std::vector<std::pair<std::string, MemoryCounts>> held_counts();

// Traces every line of the files and prints those that count otherwise now, or want a reason; `update` writes the new
// counts instead, and leaves comments and reasons. The exit code. Precondition: simt::trace::available().
Result<int> hold_counts(const std::vector<std::string>& files, bool update);

}  // namespace ridge::cli
