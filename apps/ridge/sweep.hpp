// A sweep: problems that an operator's distribution draws, measured beside their peers, or on the CPU checked.
#pragma once
#include <ridge/core/status.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace ridge::cli {

inline constexpr int gpu_repeats = 30;

struct SweepRequest {
  std::string op;
  std::uint64_t seed = 1;
  std::uint64_t count = 100;
  bool list = false;
  bool tuned = false;  // the variants near the plan's choice too, and what the choice loses against the fastest
  std::string device, commit;
  std::optional<std::string> json;  // a file, or "-" for standard output
  int repeats = 0;                  // 0: gpu_repeats
};

// The exit code: 1 where a result was wrong.
Result<int> sweep(const SweepRequest&);

}  // namespace ridge::cli
