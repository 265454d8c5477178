// attention: O = softmax(scale * Q K^T + mask) V for each batch and head, with the log-sum-exp (LSE) on request; and
// the gradients of Q, K and V from the gradient of O.
//
// Shapes    Q [B, Hq, Sq, D], K [B, Hkv, Sk, D], V [B, Hkv, Sk, Dv], O [B, Hq, Sq, Dv], LSE [B, Hq, Sq]. Strides are
//           free: heads_first(x) views a [B, S, H, D] tensor as [B, H, S, D]. Contiguous rows aligned to 16 bytes take
//           the vectorized path; others give the same result, slower. D and Dv from 1 to 512; beyond 256 no row uses
//           tensor cores, and gradients are the textbook's. Hq is a multiple of Hkv: Hq / Hkv consecutive heads of Q
//           share one head of K and V.
// Types     f32 f16 bf16, one for Q, K, V and O; LSE is f32. 16-bit types multiply exactly and accumulate in float32; P
//           is rounded to their type before it multiplies V. float32 is computed in float32, unless the rule says
//           bf16x6: each float32 product is then six bf16 products on tensor cores, with the error of float32
//           (sm90_terms.cuh). Devices and problems that no bf16x6 row fits are computed in float32. With
//           Accumulate::two_float (f32, forward, no softcap) scores, P and all sums are double-floats: O is rounded
//           once, and before that errs by 2^-32 of the sum of P |V|, and by 2^-46 of it for each unit of the largest
//           score or mask, where float32 errs by 2^-24. So a mask of one finite value for all keys leaves their scores
//           apart.
// Scores    s = scale * q k; with a softcap c > 0, c tanh(s / c); then the mask. scale defaults to 1 / sqrt(D).
// Masks     Query i has position i among the keys (upper_left), or i + Sk - Sq (lower_right: the last query at the last
//           key, as in decoding against a cache). It attends to keys from `left` before its position to `right` after
//           it, inclusive; -1 is no bound, and causal is right = 0. A window is aligned to the upper left, with or
//           without causality, unless lower_right is asked for. A mask tensor broadcasts to [B, Hq, Sq, Sk]: bool, true
//           where a query may attend, or additive, f32 or of Q's type.
// Values    Where a query may not attend (also by an additive -inf), the values of K and V do not matter, even NaN or
//           infinity. A query with nothing to attend to has O = 0 and LSE = -inf. LSE is the natural logarithm of the
//           sum of exp(s). A score that is NaN or +inf makes its row NaN; one beyond float32's range is infinite. Every
//           finite value is a score, also a type's lowest in a mask: a query with only such scores gets V's mean.
//           If a score's products overflow float32 in some order of addition, with both signs, its row is unspecified.
// Gradients dQ, dK, dV have the shapes and the type of Q, K and V. Inputs are those, the mask, O and LSE of the forward
//           pass, and dO. Sums are float32; heads that share K and V are summed in their order. Rows on tensor cores
//           (mma_, short_, wgmma_gradient) round P and dS to the 16-bit type before they multiply dO, Q and K (f16 to
//           infinity beyond 65504); others compute in float32 throughout. Where the absolute value of LSE is above
//           2,839 (4,096 / log2 e), a float has lost too much of the logarithm of the sum of weights: the sum is
//           computed again, if LSE belongs to these keys. A mask has no gradient. Where a query may not attend, neither
//           its values nor the key's affect the other: a query with nothing to attend to has dQ = 0 and adds nothing to
//           dK and dV, whatever its dO is.
// Lengths   The sequences of a batch may have different lengths, known to the device alone. Queries, keys or both:
//             cu_q [B + 1]    packed queries: Q is [total_q, Hq, D], O [total_q, Hq, Dv] and LSE [Hq, total_q].
//                             Sequence b has the rows from cu_q[b] to cu_q[b + 1].
//             cu_k [B + 1]    the same for K [total_k, Hkv, D] and V [total_k, Hkv, Dv]
//             lengths [B]     without cu_k: number of rows of K and V that each sequence uses, from the first. A cache.
//             block_table [B, P]   with lengths: K is [pages, page, Hkv, D], V [pages, page, Hkv, Dv], and key j of
//                             sequence b is row j % page of page block_table[b][j / page]. page is a power of two, at
//                             least 16.
//           int32 or int64, of any strides. Sq and Sk above are then per sequence, and so is lower_right. A plan knows
//           the tensors' sizes and max_q and max_k, those of the longest sequence. Mask tensors are not taken with
//           lengths; gradients take neither `lengths` nor pages. Offsets rise from 0 or more to at most the total,
//           lengths are from 0 to the number of rows, pages exist. Queries and keys of a sequence beyond the maximum
//           are left out. Rows of Q that belong to no sequence change nothing, and their O, LSE and dQ are not written,
//           nor are dK and dV of such keys. Keys past a sequence's length and their entries in the table are not read.
//           The contents of these tensors are not trusted: whatever they hold, nothing outside the tensors is read or
//           written. Values out of range are clamped, and the results of such sequences are unspecified. A checked plan
//           refuses them (core/check_indices.hpp), as every plan does on the CPU runtime. A sequence without queries or
//           without keys behaves as below, whatever the others are.
// Aliasing  O and LSE overlap nothing, nor do dQ, dK and dV. Q, K and V may.
// Empty     Sk = 0: O = 0, LSE = -inf, dQ = 0. No queries: dK = dV = 0. Otherwise nothing is launched.
// Repeats   bit for bit, except dQ where the rule says nondeterministic, which is faster.
#pragma once
#include <ridge/core/accumulate.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>

#include <optional>

namespace ridge {

enum class AttentionAlign : std::uint8_t { upper_left, lower_right };
enum class AttentionMask : std::uint8_t { none, boolean, additive };
enum class AttentionMath : std::uint8_t { exact, bf16x6 };

// What scores become, and which keys a query may attend to, apart from a mask tensor.
struct AttentionRule {
  std::optional<double> scale = {};  // 1 / sqrt(D)
  double softcap = 0;                // 0: none
  AttentionAlign align = AttentionAlign::upper_left;
  std::int64_t left = -1, right = -1;         // keys before and after a query's position; -1: all
  bool nondeterministic = false;              // gradients may be summed in another order from run to run
  AttentionMath math = AttentionMath::exact;  // bf16x6: f32 without gradients may be emulated
  Accumulate accumulate = Accumulate::plain;
  bool operator==(const AttentionRule&) const = default;
};

inline constexpr AttentionRule causal_rule{.right = 0};

// The views of one run.
struct AttentionTensors {
  TensorView q = {}, k = {}, v = {}, o = {};
  std::optional<TensorView> mask = {}, lse = {};
  std::optional<TensorView> cu_q = {}, cu_k = {}, lengths = {}, block_table = {};
  std::int64_t max_q = -1, max_k = -1;  // of the longest sequence; -1: as many as the tensors can hold
};

struct AttentionGradientTensors {
  TensorView q = {}, k = {}, v = {}, o = {}, lse = {}, grad_o = {};
  std::optional<TensorView> mask = {};
  TensorView grad_q = {}, grad_k = {}, grad_v = {};
  std::optional<TensorView> cu_q = {}, cu_k = {};
  std::int64_t max_q = -1, max_k = -1;
};

// Layout of a tensor: strides in elements, 0 where an axis has one element or is broadcast. batch is the stride of
// pages for a paged cache, and 0 for packed sequences.
struct AttentionOperand {
  std::int64_t batch = 0, head = 0, row = 0, element = 1;
  int alignment_offset = 0;  // bytes of the first element past a 16-byte boundary
  bool operator==(const AttentionOperand&) const = default;
};

// Layout of cu_q, cu_k, lengths (row is 0) and block_table.
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
  // Set where a tensor is not packed [B, H, S, D] and aligned, or the mask does not have all axes.
  std::optional<AttentionOperand> q = {}, k = {}, v = {}, o = {}, mask_layout = {}, lse_layout = {};
  std::optional<AttentionOperand> grad_o = {}, grad_q = {}, grad_k = {}, grad_v = {};
  // Variable-length sequences: the tensors that are given. sq and sk are then those of the longest sequence.
  std::optional<AttentionIndices> cu_q = {}, cu_k = {}, lengths = {}, block_table = {};
  std::int64_t total_q = 0, total_k = 0;  // with cu_q: rows of q; with cu_k: of k and v
  std::int64_t page = 0, pages = 0;       // with block_table: rows of a page, and pages of k and v
  bool operator==(const AttentionProblem&) const = default;

  // Problem that the views describe; refuses shapes that do not fit together, unsupported types, and overlap.
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

  AttentionProblem problem;  // with every tensor that takes part
  DeviceInfo device;
  int variant = 0;          // row of the table in variants.hpp
  std::int64_t blocks = 0;  // per split; 0: nothing to do
  int splits = 1;           // split-KV: parts of the keys with blocks of their own; gradients: of a group of heads
  int smem = 0;             // bytes per block
  bool checked = false;     // offsets, lengths and pages are checked before anything is launched
};

RIDGE_API Result<AttentionPlan> plan_attention(const AttentionProblem&, const DeviceInfo&, const PlanOptions& = {});

// One line each: plan (cached per problem and device) and run. Throw ridge::Error.
//   attention({.q = q, .k = k, .v = v, .o = o}, causal_rule, stream);
RIDGE_API void attention(const AttentionTensors&, const AttentionRule& = {}, Stream = {});
RIDGE_API void attention_gradients(const AttentionGradientTensors&, const AttentionRule& = {}, Stream = {});

// Views [B, S, H, D] as [B, H, S, D]. Precondition: rank 4.
inline TensorView heads_first(TensorView v) {
  std::swap(v.layout.shape[1], v.layout.shape[2]);
  std::swap(v.layout.stride[1], v.layout.stride[2]);
  return v;
}

}  // namespace ridge
