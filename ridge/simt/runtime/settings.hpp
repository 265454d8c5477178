// The CPU runtime's settings from the environment, read at every launch.
#pragma once
#include <ridge/core/status.hpp>

#include <cstdint>

namespace ridge::simt {

constexpr int most_workers = 256;

struct Settings {
  int workers = 1;               // RIDGE_WORKERS: OS threads that run blocks; the machine's cores unless given
  std::uint32_t seed = 0;        // RIDGE_SEED: 0 is the default order, any other number a random one, always the same
  double watchdog_seconds = 60;  // RIDGE_WATCHDOG_SECONDS: the longest time in which no block completes; 0: no limit
};

// An error names the variable, its value and the allowed values.
Result<Settings> read_settings();

}  // namespace ridge::simt
