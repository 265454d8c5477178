// trace: the memory accesses of this process's kernels, per source line, without a GPU.
//
//   auto report = simt::trace::record([&] { return simt::launch({.grid = 64, .block = 256}, kernel, x, y, n); });
//   std::puts(report->text().c_str());
//   EXPECT_TRUE(report->launches[0].coalesced());
//
// The program is linked with ridge::trace instead of ridge::ridge, and its kernels are compiled with that target's
// options. README.md says how it works, and where it differs from a GPU.
#pragma once
#include <ridge/core/api.hpp>
#include <ridge/core/status.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ridge::simt::trace {

enum class Space : std::uint8_t { global, shared };
enum class Kind : std::uint8_t { load, store, atomic };

struct Line {
  std::string file;                       // as passed to the compiler; without debug information the program
  int number = 0;                         // 0: unknown
  std::string text;                       // the line itself, trimmed; empty where the file cannot be read
  RIDGE_API std::string spelled() const;  // "softmax.cu:12"
};

// A request is one access by the lanes of a warp together. These are sums over all requests of a line.
struct Counts {
  std::int64_t requests = 0;
  std::int64_t lanes = 0;                             // participating lanes
  std::int64_t sectors = 0, least_sectors = 0;        // of 32 bytes; global memory
  std::int64_t wavefronts = 0, least_wavefronts = 0;  // shared memory
  RIDGE_API Counts& operator+=(const Counts&);
};

struct Access : Counts {
  Line at;
  Space space = Space::global;
  Kind kind = Kind::load;
  int bytes = 0;  // per lane
  // Figures of shared loads and stores if nvcc joins those of neighbouring words; otherwise as counted.
  std::int64_t widened_requests = 0, widened_wavefronts = 0, widened_least = 0;
  std::int64_t unset = 0;  // reads of shared memory that no thread of the block had written
  bool neighbours() const { return space == Space::shared && kind != Kind::atomic && widened_requests < requests; }
  // Whether there are bank conflicts even if nvcc widens all accesses that it can.
  bool conflicts() const {
    return wavefronts > least_wavefronts && (!neighbours() || widened_wavefronts > widened_least);
  }
  RIDGE_API std::string note(int warp) const;
};

// A branch at which lanes of one warp diverge.
struct Branch {
  Line at;
  std::int64_t executed = 0, divergent = 0;  // counted per warp
};

// Two blocks access the same bytes, at least one of them with a plain write.
struct Race {
  Line at, against;
  std::int64_t accesses = 0;
};

struct Dim {
  unsigned x = 1, y = 1, z = 1;
};

// What the launch did to memory as a whole, and what of it could overlap. Of the blocks that were watched.
struct Footprint {
  std::int64_t blocks = 0;                             // watched
  std::int64_t read_sectors = 0, written_sectors = 0;  // of global memory, each counted once; atomics do both
  std::int64_t block_read_sectors = 0;  // each counted once in every block that reads it: what an ideal L1 cache leaves
  std::int64_t atomic_sectors = 0;      // of global memory, each counted once
  std::int64_t load_steps = 0;  // of all warps: loads of global memory that come after a basic block's begin, together
  std::int64_t basic_blocks = 0;  // that warps executed
  std::int64_t shared_bytes = 0;  // of shared memory that a block used, at most
};

struct Launch {
  std::string kernel;
  Dim grid, block;
  std::size_t smem = 0;  // dynamic
  int warp = 32;
  std::vector<Access> accesses;  // sorted by file and line
  std::vector<Branch> branches;  // the divergent ones
  std::vector<Race> races;
  Footprint footprint;

  RIDGE_API Counts total(Space, Kind) const;
  RIDGE_API bool coalesced() const;          // no more sectors than needed
  RIDGE_API bool without_conflicts() const;  // no more wavefronts than needed
  RIDGE_API std::int64_t unset_reads() const;
};

struct Report {
  std::vector<Launch> launches;
  RIDGE_API std::string text() const;  // a table per launch, with the source lines
};

// Whether this program can trace, that is, whether it is linked with ridge::trace.
RIDGE_API bool available();

// Runs `work` and reports on every kernel that it launched on the CPU. An error is the one of `work` (for a kernel that
// broke a rule, a sentence with the source line), or says why nothing can be traced. Not for two threads at once.
RIDGE_API Result<Report> record(const std::function<Status()>& work);

// The same for a program as a whole: what is launched between start() and stop().
RIDGE_API Status start();
RIDGE_API Report stop();
// Of the launches that follow, every n-th block is watched; 0: none. 1 at the start.
RIDGE_API void watch(std::int64_t every);
// The last launch that was watched: sums of what it did, without lines and names. stop() has those.
RIDGE_API Launch latest();

}  // namespace ridge::simt::trace
