// Rotates q and k, and writes k and v into caches: a thread per pair or element, or a vector of several heads per
// thread.
#pragma once
#include <ridge/core/divider.hpp>
#include <ridge/rope/cache_variants.hpp>
#include <ridge/rope/vectors.cuh>
#include <ridge/tile/dependent_launch.cuh>

namespace ridge::rope_detail {

// A token of q, or a row of a cache: its sequence or page, and its index in it.
struct Place {
  std::int64_t outer, row;
};

// Cache rows of a sequence's tokens: rows of the sequence, or of pages that a block table names.
struct CacheRows {
  std::int64_t rows = 0;        // rows of a sequence, without a table
  const void* table = nullptr;  // [b, columns]; null: none
  bool wide_table = false;      // i64
  int page_bits = 0;            // a page has 2^page_bits rows
  std::int64_t columns = 0, pages = 0, stride_b = 0, stride_column = 0;

  // Whether the token at this position of sequence b has a row; sets `place` to it.
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

// q, k or v: source and destination of its heads. q's are written to tokens, the others to rows of a cache.
template <class T> struct Heads {
  const T* x;
  T* y;
  std::int64_t heads;
  // Strides of sequence or page, token or row, head, element.
  std::int64_t from[4] = {}, to[4] = {};
};
inline constexpr int of_q = 0, of_k = 1, of_v = 2;

template <class T> struct CachePairs {
  Heads<T> of[3];
  std::int64_t tokens, sequence;             // tokens: b * s
  std::int64_t token_pieces, rotated_heads;  // pieces of a token, and those of q's and k's heads among them
  std::int64_t pairs, head_pieces, columns;  // per head of q or k: pairs, and all pieces; columns: of v
  bool halves;
};

// q_out = q rotated, k_cache[row] = k rotated, v_cache[row] = v, a pair or a copied element per thread.
//   q, q_out [b, s, hq, d]  k [b, s, hkv, d]  v [b, s, hkv, dv]  caches [b or pages, hkv, rows, d or dv]; any strides.
//   q_out may be q.
// Precondition: gridDim.x * threads covers tokens * token_pieces, which is not 0.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    rope_cache_pairs(CachePairs<T> p, CacheRows rows, Angles angles) {
  tile::launch_dependents();  // attention, which waits for the caches
  const std::uint64_t item = std::uint64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  const std::int64_t token = static_cast<std::int64_t>(quotient(item, p.token_pieces));
  if (token >= p.tokens) return;
  std::int64_t piece = static_cast<std::int64_t>(item) - token * p.token_pieces;
  const bool is_value = piece >= p.rotated_heads;
  if (is_value) piece -= p.rotated_heads;
  const std::int64_t pieces = is_value ? p.columns : p.head_pieces;
  std::int64_t head = static_cast<std::int64_t>(quotient(piece, pieces));
  piece -= head * pieces;
  const int which = is_value ? of_v : head < p.of[of_q].heads ? of_q : of_k;
  if (which == of_k) head -= p.of[of_q].heads;

  const Heads<T>& t = p.of[which];
  const std::int64_t b = static_cast<std::int64_t>(quotient(token, p.sequence)), s = token - b * p.sequence;
  tile::grid_dependency_wait();
  const std::int64_t position = angles.position(b, s);
  Place place{b, s};
  if (which != of_q && !rows.find(b, position, place)) return;
  const T* x = t.x + b * t.from[0] + s * t.from[1] + head * t.from[2];
  T* y = t.y + place.outer * t.to[0] + place.row * t.to[1] + head * t.to[2];
  if (is_value || piece >= p.pairs) {
    const std::int64_t at = is_value ? piece : p.pairs + piece;  // after 2 * pairs rotated elements
    y[at * t.to[3]] = x[at * t.from[3]];
    return;
  }
  const std::int64_t first = p.halves ? piece : 2 * piece, second = p.halves ? piece + p.pairs : 2 * piece + 1;
  float u = float(x[first * t.from[3]]), v = float(x[second * t.from[3]]);
  rotate(angles(position, static_cast<int>(piece)), u, v);
  y[first * t.to[3]] = T(u);
  y[second * t.to[3]] = T(v);
}

template <class T> struct CacheVectors {
  Heads<T> of[3];  // elements are contiguous
  unsigned items, rotated_heads;
  int q_groups, rotated, pairs;  // rotated: rotated pieces of a head
  Divider token_pieces, head_pieces, value_pieces, sequence;
};

// The same; a thread takes Config::vector_bytes (Halves: of each half) of Config::heads heads.
// Preconditions: gridDim.x * threads covers items < 2^31; heads start on vectors; rotated elements (Halves: a half of
// them), copied elements, and a head of v are whole vectors. Heads are contiguous; their number and their size are less
// than 2^31.
template <class Policy, class T, bool Halves>
__global__ void __launch_bounds__(Policy::config.threads)
    rope_cache_vectors(CacheVectors<T> p, CacheRows rows, Angles angles) {
  tile::launch_dependents();  // attention, which waits for the caches
  using Vector = VectorOfHeads<Policy, T, Halves>;
  unsigned piece = blockIdx.x * Policy::config.threads + threadIdx.x;
  if (piece >= p.items) return;
  unsigned s = p.token_pieces.divide(piece);
  const unsigned b = p.sequence.divide(s);
  const bool is_value = piece >= p.rotated_heads;
  if (is_value) piece -= p.rotated_heads;
  int group = static_cast<int>(is_value ? p.value_pieces.divide(piece) : p.head_pieces.divide(piece));
  const int which = is_value ? of_v : group < p.q_groups ? of_q : of_k;
  if (which == of_k) group -= p.q_groups;

  const Heads<T>& t = p.of[which];
  const int vector_of_head = static_cast<int>(piece);
  const bool rotates = !is_value && vector_of_head < p.rotated;
  const int first_head = group * Vector::H, heads = static_cast<int>(t.heads) - first_head;
  // Elements of a head: rotated ones, then copied ones.
  const int at =
      rotates || is_value ? vector_of_head * Vector::V : 2 * p.pairs + (vector_of_head - p.rotated) * Vector::V;

  tile::grid_dependency_wait();
  // The loads are in flight before the search for the token's row, which itself takes one or two trips to memory.
  Vector vector;
  vector.load(t.x + b * t.from[0] + s * t.from[1] + first_head * t.from[2] + at, t.from[2], heads, p.pairs, rotates);
  const std::int64_t position = rotates || which != of_q ? angles.position(b, s) : 0;
  Place place{b, s};
  if (which != of_q && !rows.find(b, position, place)) return;
  T* y = t.y + place.outer * t.to[0] + place.row * t.to[1] + first_head * t.to[2] + at;
  if (rotates) vector.store_rotated(y, t.to[2], heads, p.pairs, angles, position, vector_of_head);
  else vector.store(y, t.to[2], heads);
}

}  // namespace ridge::rope_detail
