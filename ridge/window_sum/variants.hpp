// The table of window sums' kernels, and every fact that plan and kernel share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/window_sum/window_sum.hpp>

#include <algorithm>

namespace ridge::window_sum_detail {

enum class Method : std::uint8_t {
  naive,       // a thread per output, any strides
  shared,      // a tile of x in shared memory, any strides
  neighbours,  // narrow windows: a piece of x and its two neighbours in registers
  pieces,      // a window is the end of a piece, whole pieces, and the beginning of a piece
  wide,        // the same, of windows wider than a tile: the sums between their ends are made first
};

struct Config {
  Method method = Method::naive;
  int threads = 256;
  int outputs = 1;  // of a thread
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

inline constexpr int piece = 8;                      // elements of x that a thread reads together (neighbours, pieces)
inline constexpr int group = 32;                     // pieces whose sums are summed from both ends (pieces, wide)
inline constexpr int span_elements = piece * group;  // whose sums are made first (wide)

// clang-format off
inline constexpr Variant variants[] = {
    {"naive", "a thread per output, w reads each; any strides", {}, Role::fallback},
    {"shared", "a tile and what windows reach beside it in shared memory: w reads from there", {.method = Method::shared, .outputs = 4}, Role::fallback},
    {"neighbours", "windows up to 15: eight outputs per thread from 24 values in registers", {.method = Method::neighbours, .outputs = piece}},
    {"pieces_1k", "sums of pieces from both ends: a few reads per output, whatever w", {.method = Method::pieces, .threads = 128, .outputs = piece}},
    {"pieces_4k", "larger tiles: less is read twice", {.method = Method::pieces, .threads = 512, .outputs = piece}},
    {"wide", "windows wider than a tile: sums of 256 elements first, of which all windows of a tile have most", {.method = Method::wide, .threads = 512, .outputs = piece}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// Outputs of a block.
constexpr std::int64_t tile(const Config& c) { return std::int64_t{c.threads} * c.outputs; }

// How far a window reaches to either side of its middle, within a row of n.
constexpr std::int64_t reach(const WindowSumProblem& p) {
  return std::min((p.w - 1) / 2, std::max<std::int64_t>(p.n - 1, 0));
}

// Pieces that a block of `pieces` reads: its outputs', and those that windows reach into on either side.
constexpr std::int64_t pieces_of(const Config& c, std::int64_t window_reach) {
  return c.threads + 2 * (window_reach / piece) + 2;
}
// 4-byte words of shared memory.
//   shared   the tile's elements
//   pieces   ends [piece][threads + 1], beginnings [piece][threads + 1]; of each piece its sum, the sum from it to the
//            end of its group, and from the group's beginning to it; the groups' sums
//   wide     the same of two stretches of threads + 1 pieces; and a sum of each warp
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

// Registers of a thread, to the unit in which they are handed out: what nvcc 13 makes of the rows for sm_90a.
constexpr int registers(const Config& c) { return c.method == Method::pieces ? 32 : 40; }

// Of a row, whose sums are in the workspace (wide).
constexpr std::int64_t spans_of_row(const WindowSumProblem& p) { return ceil_div(p.n, span_elements); }

constexpr std::int64_t tiles_of_row(const Config& c, const WindowSumProblem& p) { return ceil_div(p.n, tile(c)); }
constexpr std::int64_t grid_of(const Config& c, const WindowSumProblem& p) { return p.rows * tiles_of_row(c, p); }

// Whether all rows start on 16 bytes.
constexpr bool rows_on_units(const Rows& rows, DType dtype) {
  return rows.phase == 0 && rows.pitch() * static_cast<std::int64_t>(size_of(dtype)) % 16 == 0;
}

}  // namespace ridge::window_sum_detail
