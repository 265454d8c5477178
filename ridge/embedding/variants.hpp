// The table of embedding's kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/embedding/embedding.hpp>

namespace ridge::embedding_detail {

enum class Method : std::uint8_t {
  element,  // a thread per element, any strides
  vectors,  // 16 bytes of a row per thread and access
};

struct Config {
  Method method = Method::element;
  int threads = 256;
  int vectors = 1;  // per thread, a block's threads apart: all indices are loaded first, then all rows
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
    {"units", "16-byte accesses", {.method = Method::vectors}},
    {"units_x2", "two rows' pieces in flight per thread: an index and a row are two trips to memory, one after the other",
     {.method = Method::vectors, .threads = 512, .vectors = 2}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// Elements or vectors of y, and the blocks that write them.
constexpr std::int64_t items_of(const Config& c, const EmbeddingProblem& p) {
  return p.n * (c.method == Method::element ? p.cols : p.cols / vector_elements(p.dtype));
}
constexpr std::int64_t block_items(const Config& c) { return std::int64_t{c.threads} * c.vectors; }
constexpr std::int64_t grid_of(const Config& c, const EmbeddingProblem& p) {
  return ceil_div(items_of(c, p), block_items(c));
}

// Registers per thread, rounded to the allocation unit: those of nvcc 13 for sm_90a.
constexpr int registers(const Config& c) { return c.method == Method::element ? 40 : c.vectors > 1 ? 32 : 24; }

}  // namespace ridge::embedding_detail
