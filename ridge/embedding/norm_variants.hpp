// The table of embedding_norm's kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/core/vector_access.hpp>
#include <ridge/embedding/norm.hpp>

namespace ridge::embedding_norm_detail {

enum class Method : std::uint8_t {
  streaming,  // an element per access; reads the table's row again for every pass; any strides
  resident,   // 16 bytes per access; the row is read once and stays in registers
};

struct Config {
  Method method = Method::streaming;
  int threads = 256;
  int rows = 1;     // rows per block, each with the same number of threads
  int vectors = 0;  // resident: 16-byte vectors of the row per lane
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a block per row, which reads the table's row again for every pass; any strides", {}, Role::fallback},
    {"warp_32", "the row in a warp's registers, by 16-byte accesses: one read, no barrier", {.method = Method::resident, .threads = 128, .rows = 4, .vectors = 1}},
    {"warp_128", "more registers of each lane", {.method = Method::resident, .threads = 128, .rows = 4, .vectors = 4}},
    {"block_512", "the row in a block's registers", {.method = Method::resident, .threads = 128, .vectors = 4}},
    {"block_1k", "more threads: with few rows, each lane has less to do", {.method = Method::resident, .threads = 256, .vectors = 4}},
    {"block_2k", "more threads", {.method = Method::resident, .threads = 512, .vectors = 4}},
    {"block_4k", "the most threads that a block has", {.method = Method::resident, .threads = 1024, .vectors = 4}},
    {"strided", "a warp per row, which reads it again; any strides", {.threads = 128, .rows = 4}, Role::fallback},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

constexpr int lanes(Config c) { return c.threads / c.rows; }  // per row
constexpr std::int64_t capacity(Config c) { return std::int64_t{lanes(c)} * c.vectors; }
constexpr std::int64_t vectors(const EmbeddingNormProblem& p) { return ceil_div(p.cols, vector_elements(p.dtype)); }
constexpr std::int64_t grid_of(const Config& c, const EmbeddingNormProblem& p) {
  return p.cols == 0 ? 0 : ceil_div(p.n, c.rows);
}

// Occupancy requested from the compiler: 1,024 threads per multiprocessor, with at most 64 registers each.
constexpr int blocks_per_sm(Config c) { return 1024 / c.threads; }
constexpr int registers(Config c) { return c.vectors > 1 ? 64 : 40; }

}  // namespace ridge::embedding_norm_detail
