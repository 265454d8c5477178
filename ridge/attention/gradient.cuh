// Gradients of attention. For a product s of a query and a key, with score t and P = exp(t - LSE):
//
//   dP = dO V^T     dS = P (dP - delta) dt/ds     dV = P^T dO     dQ = scale dS K     dK = scale dS^T Q
//
// with delta = rowsum(dO O), and dt/ds = 1 - (t / c)^2 with a softcap c. P is computed again from Q, K and LSE. A block
// owns rows of one side, keys or queries, and iterates over rows of the other side, so that no sum has two writers and
// each has one order: one kernel, run for both sides. (Dao, "FlashAttention-2", 2023.)
//
// This file has what the kernels share, and their launch arguments.
#pragma once
#include <ridge/attention/gradient.hpp>
#include <ridge/attention/launch_arguments.cuh>

namespace ridge::attention_kernels {

// Statistics of a query: the reference that makes its P sum to 1 (LSE), and delta.
struct alignas(16) QueryStats {
  float base, lse_log2, delta;  // as in Reference, but both base and lse_log2 may be nonzero
};
static_assert(sizeof(QueryStats) == query_stats_bytes);

// Arguments of gradients, besides those of the forward pass, whose o and lse are inputs here.
template <class T> struct GradientArguments : Arguments<T> {
  const T* grad_o;              // [batch, heads, sq, dv]
  T *grad_q, *grad_k, *grad_v;  // shapes of q, k and v
  Strides at_grad_o, at_grad_q, at_grad_k, at_grad_v;
  int key_heads;      // heads / group
  QueryStats* stats;  // [batch, heads, sq], with the strides at_row; null without a workspace
};

// Restricts the arguments to one sequence, as for the forward pass.
template <class T> __device__ __forceinline__ void select_sequence(GradientArguments<T>& a, int batch) {
  const Begin begin = select_sequence(static_cast<Arguments<T>&>(a), batch);
  a.grad_o += begin.query * a.at_grad_o.row;
  a.grad_q += begin.query * a.at_grad_q.row;
  a.grad_k += begin.key * a.at_grad_k.row;
  a.grad_v += begin.key * a.at_grad_v.row;
  if (a.stats != nullptr) a.stats += begin.query;  // not all kernels have them
}

enum class Side { queries, keys };

// Rows of one head of a tensor.
template <class T> struct Matrix {
  T* data;
  std::int64_t row, element;
  __device__ __forceinline__ Matrix(T* from, const Strides& s, int batch, int head)
      : data(from + batch * s.batch + head * s.head), row(s.row), element(s.element) {}
  __device__ __forceinline__ T* operator()(int i) const { return data + i * row; }
};

// Rows of one side: products of `x` are scores, and products of `y` are dP.
template <class T> struct SideRows { Matrix<const T> x, y; };
template <Side S, class T>
__device__ __forceinline__ SideRows<T> rows_of(const GradientArguments<T>& a, int batch, int head) {
  if constexpr (S == Side::queries) return {{a.q, a.at_q, batch, head}, {a.grad_o, a.at_grad_o, batch, head}};
  else return {{a.k, a.at_k, batch, head}, {a.v, a.at_v, batch, head}};
}

// A block's own rows of side S, and the rows of the other side that they meet.
template <Side S> struct Meeting {
  static constexpr Side other = S == Side::queries ? Side::keys : Side::queries;

  int batch, head, first;  // head: on this side
  // Precondition: gridDim.x is batch * heads of this side * tiles of `rows`.
  template <class T> __device__ __forceinline__ Meeting(const GradientArguments<T>& a, int rows) {
    const int tiles = (count(a) + rows - 1) / rows;
    const BlockCoord at(tiles, S == Side::queries ? a.heads : a.key_heads);
    batch = at.batch;
    head = at.head;
    // With a causal mask the last queries and the first keys take longest: they come first.
    first = (S == Side::queries ? at.tile : tiles - 1 - at.tile) * rows;
  }
  template <class T> static __device__ __forceinline__ int count(const GradientArguments<T>& a) {
    return S == Side::queries ? a.sq : a.sk;
  }
  // Query heads that these rows meet: their own, or all that share the keys.
  template <class T> __device__ __forceinline__ int first_head(const GradientArguments<T>& a) const {
    return S == Side::queries ? head : head * a.group;
  }
  template <class T> static __device__ __forceinline__ int heads(const GradientArguments<T>& a) {
    return S == Side::queries ? 1 : a.group;
  }
  // Head on the other side, for a query head.
  template <class T> __device__ __forceinline__ int other_head(const GradientArguments<T>& a, int query_head) const {
    return S == Side::queries ? query_head / a.group : query_head;
  }
  // Rows of the other side that any of the rows i to j meets, without the mask tensor.
  template <class T> static __device__ __forceinline__ Keys range(const GradientArguments<T>& a, int i, int j) {
    if constexpr (S == Side::queries) return keys_of(a, i, j);
    else return {::max(0, i - a.shift - a.right), ::min(a.sq, j - a.shift + a.left + 1)};
  }
};

template <class T>
__device__ __forceinline__ const QueryStats& stats_of(const GradientArguments<T>& a, int batch, int head, int i) {
  return a.stats[batch * a.at_row.batch + head * a.at_row.head + i];
}

// Turns a product and its dP into the score before the mask, and dS / P.
template <class T>
__device__ __forceinline__ void score_gradient(const Scores<T>& scores, const QueryStats& query, float& product,
                                               float& grad) {
  product = scores.of(product);
  const float ratio = scores.softcap == 0 ? 0 : product / scores.softcap;
  grad = (grad - query.delta) * (1 - ratio * ratio);
}
// P of a score that is not -inf. It is at most 1: far from 0, a sum in another order than the one that gave the base
// may exceed it by far.
__device__ __forceinline__ float p_of(float scale_log2, const QueryStats& query, float score) {
  const float exponent = fmaf(score - query.base, scale_log2, -query.lse_log2);
  return simt::fast_exp2(query.base != 0 && exponent > 0 ? 0 : exponent);
}
// Turns a score and dS / P into P and dS; both are masked_p where the score is -inf, which means a key not attended to.
__device__ __forceinline__ void compute_p_ds(float scale_log2, const QueryStats& query, float& score, float& grad) {
  const bool none = score == minus_infinity;
  const float p = p_of(scale_log2, query, score);
  grad = none ? masked_p : p * grad;
  score = none ? masked_p : p;
}

// Reference of query i, from its LSE; `lanes` of a warp share the work. Far from 0 LSE, a float, has lost the logarithm
// of the sum of P: the sum is computed again from the scores, if LSE belongs to these keys and not to more keys than
// these. A query without keys has no P, whatever the reference.
template <class T, class Lanes>
__device__ __forceinline__ Reference reference_of_query(const GradientArguments<T>& given, int batch, int head, int i,
                                                        float lse, const Lanes& lanes) {
  if (lse == minus_infinity) return {0, 0};
  if (fabsf(lse * log2_e) <= Reference::far) return {0, lse * log2_e};
  constexpr float same = 0x1p-20f;  // relative: a few units in LSE's last place
  Arguments<T> a = given;
  if (const Indices& from = a.sequences.from_q; from.data != nullptr) {  // i counts rows of all sequences
    for (batch = 0; batch + 1 < a.batch && i >= from(0, batch + 1);) ++batch;
    i -= select_sequence(a, batch).query;
  }
  if (i < 0 || i >= a.sq) return {0, 0};  // the row belongs to no sequence
  const T* q = a.q + batch * a.at_q.batch + head * a.at_q.head + i * a.at_q.row;
  const KeyRows<T> k = k_rows(a, batch, head);
  const Keys keys = keys_of(a, i);
  const Scores<T> scores(a);
  const BlockCoord at(batch, head, i);
  const auto score = [&](int key) {
    return scores(a, at, i, key, product_of(q, a.at_q.element, k(key), a.at_k.element, a.d));
  };
  float row_max = minus_infinity;
  RIDGE_KEEP_LOOP
  for (int key = keys.first + lanes.rank(); key < keys.last; key += lanes.size()) row_max = fmaxf(row_max, score(key));
  row_max = lanes.reduce(row_max, [](float x, float y) { return fmaxf(x, y); });
  if (row_max == minus_infinity) return {0, 0};
  SoftmaxState row = SoftmaxState::empty();
  row.update_max(row_max, scores.scale_log2);
  RIDGE_KEEP_LOOP
  for (int key = keys.first + lanes.rank(); key < keys.last; key += lanes.size())
    row.sum += row.p(row.relative(score(key)), scores.scale_log2);
  row.sum = lanes.reduce(row.sum, [](float x, float y) { return x + y; });
  if (fabsf(row.lse(scores.scale_log2) - lse) > same * fabsf(lse)) return {lse * (log2_e / scores.scale_log2), 0};
  return {row.base(), row.offset + log2f(row.sum)};
}

inline constexpr int stats_threads = 128, stats_lanes = 32;  // lanes per query

// Pre-processing: statistics of every query, also of rows that belong to no sequence.
// Precondition: gridDim.x * stats_threads / stats_lanes is at least a.rows.
template <class T> __global__ void __launch_bounds__(stats_threads) attention_gradient_stats(GradientArguments<T> a) {
  const simt::tile<stats_lanes> lanes;
  const std::int64_t row = std::int64_t{blockIdx.x} * (stats_threads / stats_lanes) + lanes.index();
  if (row >= a.rows) return;
  const std::int64_t queries = a.at_row.head;
  const int i = static_cast<int>(row % queries), head = static_cast<int>(row / queries % a.heads);
  const int batch = static_cast<int>(row / queries / a.heads);
  const Matrix<const T> o(a.o, a.at_o, batch, head), grad(a.grad_o, a.at_grad_o, batch, head);
  float delta = 0;
  for (int c = lanes.rank(); c < a.dv; c += stats_lanes)
    delta += static_cast<float>(o(i)[c * o.element]) * static_cast<float>(grad(i)[c * grad.element]);
  delta = lanes.reduce(delta, [](float x, float y) { return x + y; });
  const float lse = a.lse[batch * a.at_lse.batch + head * a.at_lse.head + i * a.at_lse.row];
  const Reference reference = reference_of_query(a, batch, head, i, lse, lanes);
  if (lanes.rank() == 0) a.stats[row] = {reference.base, reference.offset, delta};
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

template <class T> GradientArguments<T> gradient_arguments_of(const Call& call) {
  const AttentionProblem& p = call.problem;
  const AttentionGradientTensors& t = *call.gradient;
  const auto strides = [](const AttentionOperand& o) { return Strides{o.batch, o.head, o.row, o.element}; };
  GradientArguments<T> a{};
  static_cast<Arguments<T>&>(a) = arguments_of<T>(call);
  a.grad_o = static_cast<const T*>(t.grad_o.data);
  a.grad_q = static_cast<T*>(t.grad_q.data);
  a.grad_k = static_cast<T*>(t.grad_k.data);
  a.grad_v = static_cast<T*>(t.grad_v.data);
  a.at_grad_o = strides(*p.grad_o);
  a.at_grad_q = strides(*p.grad_q);
  a.at_grad_k = strides(*p.grad_k);
  a.at_grad_v = strides(*p.grad_v);
  a.key_heads = static_cast<int>(p.hkv);
  a.stats = static_cast<QueryStats*>(call.workspace.data);
  for (const auto& operand : {p.grad_o, p.grad_q, p.grad_k, p.grad_v})
    a.vectors = a.vectors && has_vectors(*operand, p.dtype);
  return a;
}

template <class T> Status launch_stats(const Call& call, const GradientArguments<T>& args) {
  constexpr std::int64_t rows = stats_threads / stats_lanes;
  return simt::launch(launch_config(call, ceil_div(args.rows, rows), stats_threads), attention_gradient_stats<T>, args);
}

// Launch configurations of the row's kernels over queries, and over keys.
[[maybe_unused]] simt::Config config_of_queries(const Call& call) {
  return launch_config(call, query_blocks(variants[call.plan.variant].config, call.problem));
}
[[maybe_unused]] simt::Config config_of_keys(const Call& call) {
  return launch_config(call, key_blocks(variants[call.plan.variant].config, call.problem));
}

}  // namespace
}  // namespace ridge::attention_detail
