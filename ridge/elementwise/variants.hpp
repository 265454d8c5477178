// The table of elementwise kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/elementwise/elementwise.hpp>

namespace ridge::elementwise_detail {

enum class Walk : std::uint8_t {
  flat,       // all tensors contiguous: one index for all
  broadcast,  // a and y are contiguous rows, b is one shared row
  strided,    // any strides: every element's offset is computed
};

struct Config {
  int threads = 256;
  int access_bytes = 0;  // 0: one element at a time
  int vectors = 1;       // independent accesses per thread before the first use
  Walk walk = Walk::flat;
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  double memory_share;  // of the bandwidth, if memory-bound; measured (bench/results/h200/elementwise.json)
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"scalar", "one element per thread", {}, 1, Role::fallback},
    {"vec4", "16-byte accesses: a quarter of the instructions", {.access_bytes = 16}, 1},
    {"vec4x2", "two accesses in flight per thread", {.access_bytes = 16, .vectors = 2}, 0.955},
    {"broadcast", "16-byte accesses; b is one row, kept in cache",
     {.access_bytes = 16, .vectors = 2, .walk = Walk::broadcast}, 0.95},
    {"strided", "any strides: an offset per element", {.walk = Walk::strided}, 1, Role::fallback},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

constexpr int access_elements(Config c, int element_bytes) {
  return c.access_bytes > element_bytes ? c.access_bytes / element_bytes : 1;
}
constexpr std::int64_t block_elements(Config c, int element_bytes) {
  return std::int64_t{c.threads} * c.vectors * access_elements(c, element_bytes);
}

// Registers per thread, rounded to the allocation unit: those of nvcc 13 for sm_90a.
constexpr int registers(Config c) {
  if (c.walk == Walk::strided) return 40;
  return c.access_bytes == 0 ? 16 : c.vectors == 1 ? 32 : 40;
}

}  // namespace ridge::elementwise_detail
