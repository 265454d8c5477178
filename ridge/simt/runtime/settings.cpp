#include <ridge/simt/runtime/settings.hpp>

#include <ridge/simt/launch.hpp>
#include <ridge/simt/runtime/observer.hpp>
#include <ridge/simt/runtime/sanitizer.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace ridge::simt {

// The most workers by default. A worker's stacks take up to 2,048 of the 65,530 mappings of a process, hence 24.
// ThreadSanitizer takes 2 MB per worker and thread of a block, hence 4.
static int default_workers() {
  static std::atomic<int> known{0};  // no static initializer: a fork during it would leave its guard locked
  if (const int n = known.load(std::memory_order_relaxed)) return n;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const int n = std::clamp(cores, 1, race_build ? 4 : 24);
  known.store(n, std::memory_order_relaxed);
  return n;
}

// Reads a number into `value`; does not change it if the variable is not set.
static Status read_number(const char* variable, double least, double most, const char* allowed, double& value) {
  const char* given = std::getenv(variable);
  const std::string_view text = given ? given : "";
  if (text.empty()) return {};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !(number >= least && number <= most))
    return Status::invalid("launch", variable, "\"" + std::string(text) + "\"", allowed);
  value = number;
  return {};
}

Result<Settings> read_settings() {
  Settings s;
  double workers = default_workers(), seed = 0;
  RIDGE_TRY(read_number("RIDGE_WORKERS", 1, most_workers, "a number from 1 to 256", workers));
  RIDGE_TRY(read_number("RIDGE_SEED", 0, 4294967295.0, "a number from 0 to 4294967295", seed));
  RIDGE_TRY(
      read_number("RIDGE_WATCHDOG_SECONDS", 0, 1e9, "a number of seconds, or 0 for no watchdog", s.watchdog_seconds));
  s.workers = static_cast<int>(workers);
  s.seed = static_cast<std::uint32_t>(seed);
#ifdef RIDGE_SIMT_SERIAL
  s.workers = 1;  // shared arrays are plain statics in this build
#endif
  if constexpr (observe::one_worker) s.workers = 1;
  return s;
}

Status refuse_warp(int width, const char* widths) {
  return Status::error(Code::unsupported, "warp width " + std::to_string(width) + "; this backend has " + widths);
}

}  // namespace ridge::simt
