// q and k turned, and k and v written into caches: a thread per pair or element, and a unit of several heads per
// thread.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/rope/cache_variants.hpp>
#include <ridge/rope/units.cuh>

namespace ridge::rope_detail {

// A token of q, or a row of a cache: its sequence or page, and its number there.
struct Place {
  std::int64_t outer, row;
};

// Where the tokens of a sequence go in the caches: to rows of its own, or of pages that a table names.
struct CacheRows {
  std::int64_t rows = 0;        // of a sequence without a table
  const void* table = nullptr;  // [b, columns]; null: none
  bool wide_table = false;      // i64
  int page_bits = 0;            // a page has 2^page_bits rows
  std::int64_t columns = 0, pages = 0, stride_b = 0, stride_column = 0;

  // Whether the token at this position of sequence b has a row; it is then at `place`.
  __device__ __forceinline__ bool find(std::int64_t b, std::int64_t position, Place& place) const {
    if (position < 0) return false;
    place = {b, position};
    if (!table) return position < rows;
    const std::int64_t column = position >> page_bits;
    if (column >= columns) return false;
    const std::int64_t at = b * stride_b + column * stride_column;
    const std::int64_t page =
        wide_table ? static_cast<const std::int64_t*>(table)[at] : static_cast<const std::int32_t*>(table)[at];
    place = {page, position - (column << page_bits)};
    return page >= 0 && page < pages;
  }
};

// q, k or v: where its heads are read, and where they go. q's go to tokens, the others' to rows of a cache.
template <class T> struct Heads {
  const T* x;
  T* y;
  std::int64_t heads;
  // Strides: of the sequence or page, of the token or row, of heads, of elements.
  std::int64_t from[4] = {}, to[4] = {};
};
inline constexpr int of_q = 0, of_k = 1, of_v = 2;

template <class T> struct CachePairs {
  Heads<T> of[3];
  std::int64_t tokens, sequence;             // tokens: b s
  std::int64_t token_pieces, turned_heads;   // pieces of a token, and those of q's and k's heads among them
  std::int64_t pairs, head_pieces, columns;  // of a head of q or k: pairs, and copied elements besides; columns: of v
  bool halves;
};

// q_out = q turned, k_cache[row] = k turned, v_cache[row] = v, a pair or a copied element per thread.
//   q, q_out [b, s, hq, d]  k [b, s, hkv, d]  v [b, s, hkv, dv]  caches [b or pages, hkv, rows, d or dv]; any strides.
//   q_out may be q.
// Precondition: gridDim.x * threads covers tokens * token_pieces, which is not 0.
template <class Row, class T>
__global__ void __launch_bounds__(Row::config.threads)
    rope_cache_pairs(CachePairs<T> p, CacheRows rows, Angles angles) {
  const std::uint64_t item = std::uint64_t{blockIdx.x} * Row::config.threads + threadIdx.x;
  const std::int64_t token = static_cast<std::int64_t>(quotient(item, p.token_pieces));
  if (token >= p.tokens) return;
  std::int64_t piece = static_cast<std::int64_t>(item) - token * p.token_pieces;
  const bool is_value = piece >= p.turned_heads;
  if (is_value) piece -= p.turned_heads;
  const std::int64_t pieces = is_value ? p.columns : p.head_pieces;
  std::int64_t head = static_cast<std::int64_t>(quotient(piece, pieces));
  piece -= head * pieces;
  const int which = is_value ? of_v : head < p.of[of_q].heads ? of_q : of_k;
  if (which == of_k) head -= p.of[of_q].heads;

  const Heads<T>& t = p.of[which];
  const std::int64_t b = static_cast<std::int64_t>(quotient(token, p.sequence)), s = token - b * p.sequence;
  const std::int64_t position = angles.position(b, s);
  Place place{b, s};
  if (which != of_q && !rows.find(b, position, place)) return;
  const T* x = t.x + b * t.from[0] + s * t.from[1] + head * t.from[2];
  T* y = t.y + place.outer * t.to[0] + place.row * t.to[1] + head * t.to[2];
  if (is_value || piece >= p.pairs) {
    const std::int64_t at = is_value ? piece : p.pairs + piece;  // 2 pairs turned elements, and those before this one
    y[at * t.to[3]] = x[at * t.from[3]];
    return;
  }
  const std::int64_t first = p.halves ? piece : 2 * piece, second = p.halves ? piece + p.pairs : 2 * piece + 1;
  float u = float(x[first * t.from[3]]), v = float(x[second * t.from[3]]);
  turn(angles(position, static_cast<int>(piece)), u, v);
  y[first * t.to[3]] = T(u);
  y[second * t.to[3]] = T(v);
}

template <class T> struct CacheUnits {
  Heads<T> of[3];  // elements are contiguous
  unsigned items, turned_heads;
  int q_groups, turned, pairs;  // turned: pieces of a head that are
  Divider token_pieces, head_pieces, value_pieces, sequence;
};

// The same, Config::unit_bytes (Halves: of each half) of Config::heads heads per thread.
// Preconditions: gridDim.x * threads covers items < 2^31; heads start on units; what is turned (Halves: a half of it),
// what is copied besides, and a head of v are whole units. Heads are contiguous; there are less than 2^31 of them, and
// of elements in one.
template <class Row, class T, bool Halves>
__global__ void __launch_bounds__(Row::config.threads)
    rope_cache_units(CacheUnits<T> p, CacheRows rows, Angles angles) {
  using Unit = UnitOfHeads<Row, T, Halves>;
  unsigned piece = blockIdx.x * Row::config.threads + threadIdx.x;
  if (piece >= p.items) return;
  unsigned s = p.token_pieces.divide(piece);
  const unsigned b = p.sequence.divide(s);
  const bool is_value = piece >= p.turned_heads;
  if (is_value) piece -= p.turned_heads;
  int group = static_cast<int>(is_value ? p.value_pieces.divide(piece) : p.head_pieces.divide(piece));
  const int which = is_value ? of_v : group < p.q_groups ? of_q : of_k;
  if (which == of_k) group -= p.q_groups;

  const Heads<T>& t = p.of[which];
  const int unit_of_head = static_cast<int>(piece);
  const bool turns = !is_value && unit_of_head < p.turned;
  const int first_head = group * Unit::H, heads = static_cast<int>(t.heads) - first_head;
  // Elements of a head: those turned, then those copied.
  const int at = turns || is_value ? unit_of_head * Unit::V : 2 * p.pairs + (unit_of_head - p.turned) * Unit::V;

  // What is read is under way before the token's row is looked for, which takes one or two trips to memory itself.
  Unit unit;
  unit.load(t.x + b * t.from[0] + s * t.from[1] + first_head * t.from[2] + at, t.from[2], heads, p.pairs, turns);
  const std::int64_t position = turns || which != of_q ? angles.position(b, s) : 0;
  Place place{b, s};
  if (which != of_q && !rows.find(b, position, place)) return;
  T* y = t.y + place.outer * t.to[0] + place.row * t.to[1] + first_head * t.to[2] + at;
  if (turns) unit.store_turned(y, t.to[2], heads, p.pairs, angles, position, unit_of_head);
  else unit.store(y, t.to[2], heads);
}

}  // namespace ridge::rope_detail
