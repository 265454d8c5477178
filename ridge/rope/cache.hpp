// rope_cache: what one step of a decoder does between its projections and attention, in one launch. q and k are turned
// by their positions, as rope does it, and k and v are written into the caches that attention reads.
//
// Shapes    q and q_out [b, s, hq, d], k [b, s, hkv, d], v [b, s, hkv, dv], or all four without b. Caches are as
//           attention takes its keys and values:
//             k_cache [b, hkv, rows, d], v_cache [b, hkv, rows, dv]. Stored as [b, rows, hkv, d] they are these views
//                             with two axes exchanged.
//             block_table [b, n]   with it k_cache is [pages, page, hkv, d], v_cache [pages, page, hkv, dv], and row r
//                             of sequence i is row r % page of page block_table[i][r / page]. int32 or int64, of any
//                             strides. page is a power of two from 16.
//           Strides are free; heads that are contiguous and start on 16 bytes take the fast path.
// Types     f32 f16 bf16, one for q, k, v, q_out and the caches. What is turned is computed in float32 and rounded
//           once; v, and elements of q and k from rotary_dim on, are copied bit for bit.
// Positions 0 ... s-1, or given: i32 or i64, [s] or [b, s]. A token's position says by which angles its q and k are
//           turned, and to which row of its sequence its k and v go.
// Outside   A token's k and v are not written where its position is negative or behind the sequence's rows (`rows`, or
//           n * page), or where its page is none of the cache's. Its q is turned all the same. Whatever positions and
//           tables hold, nothing outside of the tensors is read or written. A plan that is asked to be checked refuses
//           such positions and pages, and positions outside of cos and sin.
// Caches    Rows that no token goes to stay as they are. Where two tokens go to one row, each of its elements is that
//           of one of them, and which one's is not said.
// Angles    Pairs, rotary_dim, base and the tables cos and sin are as in rope.hpp, for q and k alike. A position
//           outside of the tables gives NaN, in q_out and in k_cache.
// Aliasing  q_out may be q itself (the same elements). q_out and the caches overlap nothing else, nor each other. Views
//           that lie between each other without a common element may: q, k and v of one product [b, s, hq + 2 hkv, d].
// Empty     Without tokens, or without elements in them, nothing is launched. Without rows q alone is turned.
// Repeats   bit for bit, but for rows that two tokens go to.
#pragma once
#include <ridge/rope/rope.hpp>

namespace ridge {

struct RopeCacheTensors {
  TensorView q = {}, k = {}, v = {}, q_out = {}, k_cache = {}, v_cache = {};
  std::optional<TensorView> positions = {}, cos = {}, sin = {}, block_table = {};
};

struct RopeCacheProblem {
  RopeOptions options = {};
  DType dtype = DType::f32;
  Layout q = {}, k = {}, v = {}, q_out = {};  // [b, s, heads, columns]
  Layout k_cache = {}, v_cache = {};          // [b, hkv, rows, columns]; paged: [pages, hkv, page, columns]
  int alignment = 16;                         // bytes that every address is a multiple of, 16 at most
  bool positions = false, tables = false, paged = false;
  bool operator==(const RopeCacheProblem&) const = default;

  // Contiguous, aligned tensors, caches [b, hkv, rows, d]; positions 0 ... s-1; v as wide as k.
  RIDGE_API static RopeCacheProblem contiguous(DType, std::int64_t b, std::int64_t s, std::int64_t hq, std::int64_t hkv,
                                               std::int64_t d, std::int64_t rows, const RopeOptions& = {});
  // What the views need; refuses shapes or dtypes that do not belong together, and overlap.
  RIDGE_API static Result<RopeCacheProblem> of(const RopeCacheTensors&, const RopeOptions&);
  RIDGE_API std::string text() const;  // "bf16 8x1 tokens, 32/8 heads, d 128, neox, 4096 rows"
};

class RopeCachePlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const RopeCacheTensors&, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return 0; }

  RopeCacheProblem problem;
  DeviceInfo device;
  int variant = 0;        // row of the table in cache_variants.hpp
  std::int64_t grid = 0;  // blocks
  bool checked = false;   // tokens without a row of the caches, or of the tables, are refused
};

RIDGE_API Result<RopeCachePlan> plan_rope_cache(const RopeCacheProblem&, const DeviceInfo&, const PlanOptions& = {});

// Plan (cached per problem and device) and run. Throws ridge::Error.
RIDGE_API void rope_cache(const RopeCacheTensors&, const RopeOptions& = {}, Stream = {});

}  // namespace ridge
