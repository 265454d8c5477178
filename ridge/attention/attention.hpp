// attention: O = softmax(scale * Q K^T + mask) V of every batch and head, and the log of the softmax's sum on request;
// and the gradients of Q, K and V from that of O.
//
// Shapes    Q [B, Hq, Sq, D], K [B, Hkv, Sk, D], V [B, Hkv, Sk, Dv], O [B, Hq, Sq, Dv], LSE [B, Hq, Sq]. Strides are
//           free: tensors stored as [B, S, H, D] are these views with two axes exchanged, heads_first(x). Rows of
//           neighbouring elements that start on 16 bytes take the fast path; others are right and slower.
//           D and Dv from 1 to 256. Hq is a multiple of Hkv: Hq / Hkv neighbouring heads of Q share one of K and V.
// Types     f32 f16 bf16, one for Q, K, V and O; LSE is f32. 16-bit types multiply exactly and accumulate in float32,
//           and weights are rounded to their type before they meet V. float32 is float32, unless the rule says bf16x6:
//           products of float32 by six of bf16 on tensor cores, whose error is that of float32 (sm90_terms.cuh).
//           Devices without a row for it, and problems that it does not fit, are computed in float32.
// Scores    s = scale * q k; with a softcap c > 0, c tanh(s / c); then the mask. scale is 1 / sqrt(D) where none is
//           given.
// Masks     Query i stands at position i of the keys (upper_left), or at i + Sk - Sq (lower_right: the last query at
//           the last key, as in decoding against a cache), and attends to keys from `left` before to `right` after it,
//           both included; -1 is no bound, and causal is right = 0. A window is placed as causality is: from the upper
//           left, also without causality, unless lower_right is asked for. And a mask tensor, of a shape that stretches
//           to [B, Hq, Sq, Sk]: bool, true where a query may attend, or additive, f32 or of Q's type.
// Values    Where a query may not attend (also by an additive -inf), neither K's nor V's values matter, be they NaN or
//           infinite. A query with nothing to attend to has O = 0 and LSE = -inf. LSE is the natural logarithm of the
//           sum of exp(s). A score that is NaN or +inf makes its row NaN; one beyond float32's range is infinite. Every
//           finite one is a score, a type's lowest in a mask too: a query all of whose scores are that has V's mean.
//           A score whose products of both signs leave float32's range in some order has no meaning, nor has its row.
// Gradients dQ, dK, dV, of the shapes and the type of Q, K and V, from those, the mask, O and LSE as the forward pass
//           gave them, and dO. Sums are float32, heads that share K and V are summed in their order. Rows on tensor
//           cores (mma_gradient, wgmma_gradient) round weights and the gradients of products to the 16-bit type before
//           they meet dO, Q and K, f16's to infinity beyond 65504; others compute in float32 throughout. Where LSE's
//           absolute value is above 2,839 (4,096 / log2 e), a float has lost too much of the logarithm of the weights'
//           sum: the sum is taken again, if LSE is that of these keys. A mask has no gradient. Where a query may not
//           attend, neither its values nor the key's matter to the other: a query with nothing to attend to has dQ = 0
//           and adds nothing to dK and dV, whatever its dO is.
// Lengths   The sequences of a batch may be of uneven lengths, which the device alone knows. Queries, keys or both:
//             cu_q [B + 1]    queries follow each other: Q is [total_q, Hq, D], O [total_q, Hq, Dv] and
//                             LSE [Hq, total_q]. Those of sequence b are the rows from cu_q[b] on to cu_q[b + 1].
//             cu_k [B + 1]    the same of K [total_k, Hkv, D] and V [total_k, Hkv, Dv]
//             lengths [B]     without cu_k: of K's and V's rows, as many of each sequence, from the first on. A cache.
//             block_table [B, P]   with lengths: K is [pages, page, Hkv, D], V [pages, page, Hkv, Dv], and key j of
//                             sequence b is row j % page of page block_table[b][j / page]. page is a power of two from
//                             16.
//           int32 or int64, of any strides. Sq and Sk above are then a sequence's own, so lower_right is that of each.
//           A plan knows the tensors' sizes and max_q and max_k, the longest sequence's. A mask tensor is not taken;
//           nor, where gradients are computed, lengths and pages.
//           Offsets rise from 0 or more to at most the total, lengths are from 0 to the rows that there are, pages
//           exist; and of a sequence longer than the maximum the further queries and keys are left out. Rows of Q that
//           are no sequence's change nothing, and their O, LSE and dQ are not written, nor are dK and dV of such keys.
//           Neither keys past a sequence's length nor their places in the table are read.
//           What they hold is not trusted: whatever it is, nothing outside of the tensors is read or written. Numbers
//           beyond a range are taken as its nearest end, and what such sequences get is not said. A plan that is
//           checked refuses them (core/check_indices.hpp), as on the CPU runtime every plan does.
//           A sequence without queries or without keys is as below, whatever the others are.
// Aliasing  O and LSE overlap nothing, nor do dQ, dK and dV. Q, K and V may.
// Empty     Sk = 0: O = 0, LSE = -inf, dQ = 0. No queries: dK = dV = 0. Otherwise nothing is launched.
// Repeats   bit for bit, but for dQ where the rule says nondeterministic, which is for speed.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>

#include <optional>

namespace ridge {

enum class AttentionAlign : std::uint8_t { upper_left, lower_right };
enum class AttentionMask : std::uint8_t { none, boolean, additive };
enum class AttentionMath : std::uint8_t { exact, bf16x6 };

// What scores become, and which keys a query may attend to besides what a mask tensor says.
struct AttentionRule {
  std::optional<double> scale = {};  // 1 / sqrt(D)
  double softcap = 0;                // 0: none
  AttentionAlign align = AttentionAlign::upper_left;
  std::int64_t left = -1, right = -1;         // keys before and after a query's position; -1: all
  bool nondeterministic = false;              // gradients may be summed in another order from run to run
  AttentionMath math = AttentionMath::exact;  // bf16x6: f32 without gradients may be emulated
  bool operator==(const AttentionRule&) const = default;
};

inline constexpr AttentionRule causal_rule{.right = 0};

// The views of one run.
struct AttentionTensors {
  TensorView q = {}, k = {}, v = {}, o = {};
  std::optional<TensorView> mask = {}, lse = {};
  std::optional<TensorView> cu_q = {}, cu_k = {}, lengths = {}, block_table = {};
  std::int64_t max_q = -1, max_k = -1;  // the longest sequence's; -1: as many as the tensors could hold
};

struct AttentionGradientTensors {
  TensorView q = {}, k = {}, v = {}, o = {}, lse = {}, grad_o = {};
  std::optional<TensorView> mask = {};
  TensorView grad_q = {}, grad_k = {}, grad_v = {};
  std::optional<TensorView> cu_q = {}, cu_k = {};
  std::int64_t max_q = -1, max_k = -1;
};

// How a tensor lies: strides in elements, 0 where an axis has one element or is repeated. Of a cache, batch is that of
// pages; of sequences that follow each other it is 0.
struct AttentionOperand {
  std::int64_t batch = 0, head = 0, row = 0, element = 1;
  int phase = 0;  // bytes of the first element past a 16-byte boundary
  bool operator==(const AttentionOperand&) const = default;
};

// Of cu_q, cu_k, lengths (row is 0) and block_table.
struct AttentionIndices {
  DType dtype = i32;
  std::int64_t row = 0, element = 1;  // strides
  bool operator==(const AttentionIndices&) const = default;
};

struct AttentionProblem {
  std::int64_t b = 1, hq = 1, hkv = 1, sq = 0, sk = 0, d = 0, dv = 0;  // dv 0: d
  DType dtype = DType::f32;
  AttentionRule rule = {};
  AttentionMask mask = AttentionMask::none;
  DType mask_dtype = DType::boolean;  // where there is a mask
  bool lse = false, backward = false;
  // Where the tensors are not packed [B, H, S, D] and aligned, the mask not of all axes. grad_*: of gradients.
  std::optional<AttentionOperand> q = {}, k = {}, v = {}, o = {}, mask_lies = {}, lse_lies = {};
  std::optional<AttentionOperand> grad_o = {}, grad_q = {}, grad_k = {}, grad_v = {};
  // Sequences of uneven lengths: which of these tensors there are. sq and sk are then the longest sequence's.
  std::optional<AttentionIndices> cu_q = {}, cu_k = {}, lengths = {}, block_table = {};
  std::int64_t total_q = 0, total_k = 0;  // with cu_q: rows of q; with cu_k: of k and v
  std::int64_t page = 0, pages = 0;       // with block_table: rows of a page, and pages of k and v
  bool operator==(const AttentionProblem&) const = default;

  // What the views need; refuses shapes that do not fit together, types that are not taken, and overlap.
  RIDGE_API static Result<AttentionProblem> of(const AttentionTensors&, const AttentionRule& = {});
  RIDGE_API static Result<AttentionProblem> of_gradient(const AttentionGradientTensors&, const AttentionRule& = {});
  RIDGE_API std::string text() const;  // "bf16 2x32/8 heads, 4096x4096, d 128, causal"
};

class AttentionPlan {
 public:
  // The views must be as planned. workspace_bytes() of workspace are used.
  RIDGE_API Status run(const AttentionTensors&, Workspace = {}, Stream = {}) const;
  RIDGE_API Status run_gradient(const AttentionGradientTensors&, Workspace = {}, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  RIDGE_API std::size_t workspace_bytes() const;

  AttentionProblem problem;  // every tensor that takes part is given
  DeviceInfo device;
  int variant = 0;          // row of the table in variants.hpp
  std::int64_t blocks = 0;  // of all kernels over queries or keys; 0: nothing to do
  int splits = 1;           // parts of the keys that blocks of their own attend to
  int smem = 0;             // bytes of a block
  bool checked = false;     // what offsets, lengths and pages are is looked at before anything is launched
};

RIDGE_API Result<AttentionPlan> plan_attention(const AttentionProblem&, const DeviceInfo&, const PlanOptions& = {});

// One line each: plan (cached per problem and device) and run. Throw ridge::Error.
//   attention({.q = q, .k = k, .v = v, .o = o}, causal_rule, stream);
RIDGE_API void attention(const AttentionTensors&, const AttentionRule& = {}, Stream = {});
RIDGE_API void attention_gradients(const AttentionGradientTensors&, const AttentionRule& = {}, Stream = {});

// [B, S, H, D] seen as [B, H, S, D]. Precondition: rank 4.
inline TensorView heads_first(TensorView v) {
  std::swap(v.layout.shape[1], v.layout.shape[2]);
  std::swap(v.layout.stride[1], v.layout.stride[2]);
  return v;
}

}  // namespace ridge
