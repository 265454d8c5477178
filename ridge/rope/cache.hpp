// rope_cache: the work of a decoder step between its projections and attention, in one launch. q and k are rotated by
// their positions, as in rope, and k and v are written into the caches that attention reads.
//
// Shapes    q and q_out [b, s, hq, d], k [b, s, hkv, d], v [b, s, hkv, dv], or all four without b. Caches have
//           the layouts that attention accepts:
//             k_cache [b, hkv, rows, d], v_cache [b, hkv, rows, dv]. Caches stored as [b, rows, hkv, d] are these views
//                             with two axes exchanged.
//             block_table [b, n]   k_cache is then [pages, page, hkv, d], v_cache [pages, page, hkv, dv], and row r
//                             of sequence i is row r % page of page block_table[i][r / page]. int32 or int64, any
//                             strides. page is a power of two, at least 16.
//           Strides are free; heads that are contiguous and start on 16 bytes take the fast path.
// Types     f32 f16 bf16, the same for q, k, v, q_out and the caches. Rotations are computed in float32 and rounded
//           once; v, and elements of q and k from rotary_dim on, are copied bit for bit.
// Positions 0 ... s-1, or given: i32 or i64, [s] or [b, s]. A token's position determines the angles of its q and k,
//           and the row of its sequence that its k and v are written to.
// Outside   A token's k and v are not written if its position is negative or beyond the sequence's rows (`rows`, or
//           n * page), or if its page is not in the cache. Its q is rotated all the same. Whatever positions and tables
//           hold, nothing outside of the tensors is read or written. A checked plan refuses such positions and pages,
//           and positions outside of cos and sin.
// Caches    Rows without a token keep their values. If two tokens write to one row, each of its elements comes from one
//           of them; which one is unspecified.
// Angles    Pairs, rotary_dim, base and the tables cos and sin are as in rope.hpp, for both q and k. A position
//           outside of the tables gives NaN, in q_out and in k_cache.
// Aliasing  q_out may be q itself (the same elements). q_out and the caches overlap nothing else, nor each other.
//           Interleaved views without a common element are allowed: q, k and v of one product [b, s, hq + 2 hkv, d].
// Empty     Without tokens, or without elements in them, nothing is launched. Without rows only q is rotated.
// Repeats   bitwise identical, except rows that two tokens write to.
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
  int alignment = 16;                         // common alignment of all addresses in bytes, at most 16
  bool positions = false, tables = false, paged = false;
  bool operator==(const RopeCacheProblem&) const = default;

  // Contiguous, aligned tensors, caches [b, hkv, rows, d]; positions 0 ... s-1; dv = d.
  RIDGE_API static RopeCacheProblem contiguous(DType, std::int64_t b, std::int64_t s, std::int64_t hq, std::int64_t hkv,
                                               std::int64_t d, std::int64_t rows, const RopeOptions& = {});
  // The problem of these views. Refuses shapes or dtypes that do not match, and overlap.
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
  bool checked = false;   // refuses tokens without a row of the caches or of the tables
};

RIDGE_API Result<RopeCachePlan> plan_rope_cache(const RopeCacheProblem&, const DeviceInfo&, const PlanOptions& = {});

// Plan (cached per problem and device) and run. Throws ridge::Error.
RIDGE_API void rope_cache(const RopeCacheTensors&, const RopeOptions& = {}, Stream = {});

}  // namespace ridge
