// The table of embedding's kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/embedding/embedding.hpp>

namespace ridge::embedding_detail {

enum class Method : std::uint8_t {
  element,  // a thread per element, any strides
  units,    // 16 bytes of a row per thread and access
};

struct Config {
  Method method = Method::element;
  int threads = 256;
  int units = 1;  // of a thread, a block's threads apart: their indices are looked up together, then their rows
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per element; any strides", {}, Role::fallback},
    {"units", "16-byte accesses", {.method = Method::units}},
    {"units_x2", "two rows' pieces in flight per thread: an index and a row are two trips to memory, one after the other",
     {.method = Method::units, .threads = 512, .units = 2}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

inline constexpr int unit_bytes = 16;
constexpr std::int64_t unit_elements(DType dtype) { return unit_bytes / static_cast<std::int64_t>(size_of(dtype)); }

// Elements or units of y, and the blocks that make them.
constexpr std::int64_t items_of(const Config& c, const EmbeddingProblem& p) {
  return p.n * (c.method == Method::element ? p.cols : p.cols / unit_elements(p.dtype));
}
constexpr std::int64_t block_items(const Config& c) { return std::int64_t{c.threads} * c.units; }
constexpr std::int64_t grid_of(const Config& c, const EmbeddingProblem& p) {
  return ceil_div(items_of(c, p), block_items(c));
}

// Registers of a thread, to the unit in which they are handed out: what nvcc 13 makes of the rows for sm_90a.
constexpr int registers(const Config& c) { return c.method == Method::element ? 40 : c.units > 1 ? 32 : 24; }

}  // namespace ridge::embedding_detail
