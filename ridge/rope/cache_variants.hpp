// The table of rope_cache's kernels, and every fact that plan and kernel share. Rows use rope's Config.
#pragma once
#include <ridge/rope/cache.hpp>
#include <ridge/rope/variants.hpp>

#include <algorithm>

namespace ridge::rope_detail {

// clang-format off
inline constexpr Variant cache_variants[] = {
    {"naive", "a thread per pair of q and k and per element of v; any strides", {}, Role::fallback},
    {"units", "16-byte accesses", {.method = Method::vectors}},
    {"heads", "one computation of the angles, and one search for the row, for four heads, whose loads are in flight together", {.method = Method::vectors, .heads = 4}},
    {"heads_8", "8-byte accesses, for halves that are no multiple of 16 bytes", {.method = Method::vectors, .heads = 4, .vector_bytes = 8}},
};
// clang-format on
inline constexpr int cache_variant_count = static_cast<int>(std::size(cache_variants));

inline constexpr std::int64_t least_page = 16;  // rows of a page of a cache, as in attention

// The rotation of q; k's heads have the same pieces.
constexpr RopeProblem rotation_of(const RopeCacheProblem& p) {
  return {.options = p.options, .dtype = p.dtype, .x = p.q, .y = p.q_out};
}

// Pieces of a token, one per thread: those of q's heads, then k's, then v's; a piece covers Config::heads heads.
struct TokenPieces {
  std::int64_t q_groups, kv_groups;  // groups of heads
  std::int64_t head, value;          // pieces of a head of q or k, and of v

  constexpr std::int64_t rotated_heads() const { return (q_groups + kv_groups) * head; }  // pieces of q and k
  constexpr std::int64_t all() const { return rotated_heads() + kv_groups * value; }
};
constexpr TokenPieces token_pieces(const Config& c, const RopeCacheProblem& p) {
  const std::int64_t dv = p.v.shape[3];
  return {.q_groups = ceil_div(p.q.shape[2], c.heads),
          .kv_groups = ceil_div(p.k.shape[2], c.heads),
          .head = pieces(c, rotation_of(p)),
          .value = c.method == Method::pairs ? dv : dv / vector_elements(c, p.dtype)};
}
constexpr std::int64_t tokens_of(const RopeCacheProblem& p) { return p.q.shape[0] * p.q.shape[1]; }
constexpr std::int64_t cache_items_of(const Config& c, const RopeCacheProblem& p) {
  return tokens_of(p) * token_pieces(c, p).all();
}

// Registers per thread: an estimate, those of rope's rows and 16 more to find a token's row.
constexpr int cache_registers(const Config& c) { return registers(c) + 16; }

}  // namespace ridge::rope_detail
