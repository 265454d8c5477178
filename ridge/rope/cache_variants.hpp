// The table of rope_cache's kernels, and every fact that plan and kernel share. Rows are made of rope's Config.
#pragma once
#include <ridge/rope/cache.hpp>
#include <ridge/rope/variants.hpp>

#include <algorithm>

namespace ridge::rope_detail {

// clang-format off
inline constexpr Variant cache_variants[] = {
    {"naive", "a thread per pair of q and k and per element of v; any strides", {}, Role::fallback},
    {"units", "16-byte accesses", {.method = Method::units}},
    {"heads", "one computation of the angles, and one look for the row, for four heads, whose loads are in flight together", {.method = Method::units, .heads = 4}},
    {"heads_8", "8-byte accesses, for halves that are no multiple of 16 bytes", {.method = Method::units, .heads = 4, .unit_bytes = 8}},
};
// clang-format on
inline constexpr int cache_variant_count = static_cast<int>(std::size(cache_variants));

inline constexpr std::int64_t least_page = 16;  // rows of a page of a cache, as attention has it

// What turns q; k's heads are of the same pieces.
constexpr RopeProblem rotation_of(const RopeCacheProblem& p) {
  return {.options = p.options, .dtype = p.dtype, .x = p.q, .y = p.q_out};
}

// The pieces of a token that a thread each takes: those of q's heads, of k's, of v's, Config::heads of them at a time.
struct TokenPieces {
  std::int64_t q_groups, kv_groups;  // of heads
  std::int64_t head, value;          // pieces of a head of q or k, and of one of v

  constexpr std::int64_t turned_heads() const { return (q_groups + kv_groups) * head; }  // q's and k's
  constexpr std::int64_t all() const { return turned_heads() + kv_groups * value; }
};
constexpr TokenPieces token_pieces(const Config& c, const RopeCacheProblem& p) {
  const std::int64_t dv = p.v.shape[3];
  return {.q_groups = ceil_div(p.q.shape[2], c.heads),
          .kv_groups = ceil_div(p.k.shape[2], c.heads),
          .head = pieces(c, rotation_of(p)),
          .value = c.method == Method::pairs ? dv : dv / unit_elements(c, p.dtype)};
}
constexpr std::int64_t tokens_of(const RopeCacheProblem& p) { return p.q.shape[0] * p.q.shape[1]; }
constexpr std::int64_t cache_items_of(const Config& c, const RopeCacheProblem& p) {
  return tokens_of(p) * token_pieces(c, p).all();
}

// Registers of a thread: an estimate, those of rope's rows and 16 more to find a token's row.
constexpr int cache_registers(const Config& c) { return registers(c) + 16; }

}  // namespace ridge::rope_detail
