// The table of nms's kernels, and every fact that plan and kernels share.
#pragma once
#include <ridge/core/grid.hpp>
#include <ridge/nms/nms.hpp>

namespace ridge::nms_detail {

enum class Method : std::uint8_t {
  walk,  // a block walks the boxes, and suppresses those that each kept one overlaps
  mask,  // all overlaps first, a bit each; then a block walks the bits
};

struct Config {
  Method method = Method::walk;
  int threads = 256;         // of the selecting block
  bool specialized = false;  // mask: one warp decides a tile while the others suppress for the tile before it
  bool operator==(const Config&) const = default;
};

struct Variant {
  std::string_view name, step;
  Config config;
  Role role = Role::general;
};

// clang-format off
inline constexpr Variant variants[] = {
    {"walk", "one block, from box to box; any number of boxes", {}},
    {"mask", "every pair's overlap as a bit, by the whole device; then 64 boxes at a time", {.method = Method::mask, .threads = 1024}, Role::lesson},
    {"mask_ahead", "one warp decides, the others suppress behind it", {.method = Method::mask, .threads = 1024, .specialized = true}},
};
// clang-format on
inline constexpr int variant_count = static_cast<int>(std::size(variants));

// Keys are sorted in tiles, a key per thread; with several tiles, each key then looks up its rank in the others.
inline constexpr int sort_tile = 1024, rank_threads = 128;
constexpr std::int64_t sort_tiles(std::int64_t n) { return ceil_div(n, sort_tile); }

// The mask: a row per box in the order of scores, of words of 64 boxes each.
inline constexpr int word_bits = 64;
constexpr std::int64_t words(std::int64_t n) { return ceil_div(n, word_bits); }
// Blocks of the mask's upper triangle: a tile of 64 x 64 pairs for every 64 threads.
inline constexpr int mask_threads = 256, mask_tiles = mask_threads / word_bits;
constexpr std::int64_t mask_grid(std::int64_t n) { return ceil_div(words(n), mask_tiles) * words(n); }
constexpr std::int64_t choose_smem_bytes(const Config& c, std::int64_t n) {
  return c.method == Method::mask ? words(n) * 8 : 0;  // a bit per box: suppressed
}

// ---- workspace ---------------------------------------------------------------------------------------------------

struct WorkspaceLayout {
  std::int64_t keys, order, boxes, classes, mask, bytes;
};
constexpr std::int64_t aligned(std::int64_t bytes) { return ceil_div(bytes, 256) * 256; }
constexpr WorkspaceLayout workspace_layout(const Config& c, const NmsProblem& p) {
  WorkspaceLayout at{};
  at.keys = 0;                                                    // u64 of each box, in sorted tiles
  at.order = at.keys + aligned(sort_tiles(p.n) * sort_tile * 8);  // u32: box indices by descending score
  at.boxes = at.order + aligned(p.n * 4);                         // 4 floats, in that order
  at.classes = at.boxes + aligned(p.n * 16);                      // i64
  at.mask = at.classes + aligned(p.classes ? p.n * 8 : 0);        // u64 [n][words]; walk: a byte per box
  at.bytes = at.mask + aligned(c.method == Method::mask ? p.n * words(p.n) * 8 : p.n);
  return at;
}

}  // namespace ridge::nms_detail
