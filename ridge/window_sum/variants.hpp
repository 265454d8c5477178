// The table of window_sum's kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/window_sum/window_sum.hpp>

#include <algorithm>

namespace ridge::window_sum_detail {

enum class Method : std::uint8_t {
  naive,       // a thread per output, any strides
  shared,      // a tile of x in shared memory, any strides
  neighbours,  // narrow windows: a piece of x and its two neighbours in registers
  pieces,      // a window is a suffix of a piece, whole pieces, and a prefix of a piece
  wide,        // the same for windows wider than a tile: sums of 256 elements are computed first
};

struct Config {
  Method method = Method::naive;
  int threads = 256;
  int outputs = 1;  // per thread
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

inline constexpr int piece = 8;                      // elements of x per thread and load (neighbours, pieces)
inline constexpr int group = 32;                     // pieces in a prefix and suffix sum (pieces, wide)
inline constexpr int span_elements = piece * group;  // elements of the sums computed first (wide)

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per output, w reads each; any strides", {}, Role::fallback},
    {"shared", "a tile and its halo in shared memory: w reads from there", {.method = Method::shared, .outputs = 4}, Role::fallback},
    {"neighbours", "windows up to 15: eight outputs per thread from 24 values in registers", {.method = Method::neighbours, .outputs = piece}},
    {"pieces_1k", "prefix and suffix sums of pieces: a few reads per output, whatever w", {.method = Method::pieces, .threads = 128, .outputs = piece}},
    {"pieces_4k", "larger tiles: less is read twice", {.method = Method::pieces, .threads = 512, .outputs = piece}},
    {"wide", "windows wider than a tile: sums of 256 elements first, most of which all windows of a tile share", {.method = Method::wide, .threads = 512, .outputs = piece}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// Outputs per block.
constexpr std::int64_t tile(const Config& c) { return std::int64_t{c.threads} * c.outputs; }

// Radius of a window, within a row of n.
constexpr std::int64_t reach(const WindowSumProblem& p) {
  return std::min((p.w - 1) / 2, std::max<std::int64_t>(p.n - 1, 0));
}

// Pieces that a block of `pieces` reads: those of its outputs, and the halo on either side.
constexpr std::int64_t pieces_of(const Config& c, std::int64_t window_reach) {
  return c.threads + 2 * (window_reach / piece) + 2;
}
// 4-byte words of shared memory.
//   shared   the tile's elements
//   pieces   suffixes [piece][threads + 1], prefixes [piece][threads + 1]; for each piece its sum, and the suffix and
//            prefix sums of its group; the groups' sums
//   wide     the same for two ranges of threads + 1 pieces; and a sum per warp
constexpr std::int64_t shared_words(const Config& c, std::int64_t window_reach) {
  if (c.method == Method::shared) return tile(c) + 2 * window_reach;
  if (c.method == Method::wide) {
    const std::int64_t groups = ceil_div(c.threads + 1, group);
    return 2 * piece * (c.threads + 1) + groups * (4 * group + 2) + c.threads / group;
  }
  if (c.method != Method::pieces) return 0;
  const std::int64_t groups = ceil_div(pieces_of(c, window_reach), group);
  return 2 * piece * (c.threads + 1) + groups * (3 * group + 1);
}

// Registers per thread, rounded to the allocation unit: those of nvcc 13 for sm_90a.
constexpr int registers(const Config& c) { return c.method == Method::pieces ? 32 : 40; }

// Spans per row, whose sums are in the workspace (wide).
constexpr std::int64_t spans_of_row(const WindowSumProblem& p) { return ceil_div(p.n, span_elements); }

constexpr std::int64_t tiles_of_row(const Config& c, const WindowSumProblem& p) { return ceil_div(p.n, tile(c)); }
constexpr std::int64_t grid_of(const Config& c, const WindowSumProblem& p) { return p.rows * tiles_of_row(c, p); }

// Whether all rows start on 16 bytes.
constexpr bool rows_on_vectors(const Rows& rows, DType dtype) {
  return rows.alignment_offset == 0 && rows.pitch() * static_cast<std::int64_t>(size_of(dtype)) % 16 == 0;
}

}  // namespace ridge::window_sum_detail
