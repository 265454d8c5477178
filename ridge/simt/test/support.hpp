// Helpers for the tests of simt.
#pragma once
#include <ridge/simt/simt.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace simt_test {

using namespace ridge;
using simt::Config;
using simt::launch;
using simt::tile;

#if defined(RIDGE_SIMT_RACE)
constexpr bool race = true;
#else
constexpr bool race = false;
#endif
#if defined(RIDGE_SIMT_SERIAL)
constexpr bool bounds = true;
#else
constexpr bool bounds = false;
#endif
constexpr bool plain = !race && !bounds;

// Sets an environment variable for the lifetime of this object.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    if (const char* former = std::getenv(name)) former_ = former;
    setenv(name, value.c_str(), 1);
  }
  ~Setting() {
    if (former_.empty()) unsetenv(name_);
    else setenv(name_, former_.c_str(), 1);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::string former_;
};

inline std::string text(const Status& status) { return std::string(status.message()); }

// Asserts that the launch succeeds.
#define ASSERT_RUNS(...)                                 \
  do {                                                   \
    const ridge::Status ran = (__VA_ARGS__);             \
    ASSERT_TRUE(ran.ok()) << std::string(ran.message()); \
  } while (false)

// One block of `threads` threads, with the warp width under test.
inline Config one_block(int threads, int warp = 32) {
  return {.grid = dim3(1), .block = dim3(static_cast<unsigned>(threads)), .warp = warp};
}

}  // namespace simt_test
