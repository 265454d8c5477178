// The runtime's interface for kernels on the CPU (ridge/simt/runtime, inside libridge). Every function takes the source
// line of its call, for the sentence when the kernel breaks a rule.
#pragma once
#include <ridge/core/api.hpp>
#include <ridge/core/status.hpp>
#include <ridge/simt/backend.hpp>
#include <ridge/simt/cpu/names.hpp>

#include <source_location>

namespace ridge::simt {
inline namespace RIDGE_SIMT_SPACE {

struct Config;

namespace detail {

#if __has_builtin(__builtin_source_location)
using where = std::source_location;
#else  // clang 14
class where {
 public:
  static constexpr where current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE(),
                                 unsigned column = __builtin_COLUMN()) {
    where at;
    at.file_ = file, at.line_ = line, at.column_ = column;
    return at;
  }
  constexpr const char* file_name() const { return file_; }
  constexpr unsigned line() const { return line_; }
  constexpr unsigned column() const { return column_; }

 private:
  const char* file_ = "";
  unsigned line_ = 0, column_ = 0;
};
#endif

// ---- the block ---------------------------------------------------------------------------------------------------
enum class Vote : unsigned char { count, all, any };
RIDGE_API void barrier(where);
RIDGE_API int barrier_vote(Vote, bool predicate, where);

// ---- the warp ----------------------------------------------------------------------------------------------------
// How a shuffle gives the lane it reads: an index within the segment of `width` lanes, this lane's number with bits
// flipped, or a distance up or down; where the source is outside the segment, the lane reads its own value.
enum class Source : unsigned char { index, flip, up, down };
RIDGE_API std::uint64_t shuffle(lane_mask, std::uint64_t word, Source, int operand, int width, where);
RIDGE_API lane_mask ballot(lane_mask, bool predicate, where);
RIDGE_API void sync_warp(lane_mask, where);

// ---- the rest ----------------------------------------------------------------------------------------------------
RIDGE_API void yield();  // lets the block's other threads run
RIDGE_API void* dynamic_shared_memory();
RIDGE_API std::size_t block_number();  // counts the blocks that this OS thread has begun, from 1
[[noreturn]] RIDGE_API void misaligned(const volatile void* address, std::size_t alignment, where);

// The kernel of a launch: body(arguments) runs once per thread of the grid.
struct Entry {
  void (*body)(void*) = nullptr;
  void* arguments = nullptr;
  std::size_t bytes = 0;         // size of the arguments
  const void* kernel = nullptr;  // the kernel's address, for its name
};
RIDGE_API Status run(const Config&, const Entry&);

}  // namespace detail
}  // namespace RIDGE_SIMT_SPACE
}  // namespace ridge::simt
