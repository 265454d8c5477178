// Gradients of attention. Of a product x of a query and a key, whose score s has the weight p = exp(s - lse):
//
//   dP = dO V^T     dX = p (dP - delta) ds/dx     dV = P^T dO     dQ = scale dX K     dK = scale dX^T Q
//
// with delta = sum of dO O over the query's columns, and ds/dx = 1 - (s / c)^2 under a softcap c. Weights are computed
// again from Q, K and LSE. A block owns rows of one side, keys or queries, and walks over those of the other, so that
// nothing is added to by two blocks and sums have one order: one kernel, run for either side. (Dao, "FlashAttention-2",
// 2023.)
//
// Here is what the kernels share, and their launches.
#pragma once
#include <ridge/attention/gradient.hpp>
#include <ridge/attention/launch_arguments.cuh>

namespace ridge::attention_kernels {

// Of a query: what its weights are taken relative to, so that they come to 1, and delta.
struct alignas(16) QueryFacts {
  float base, offset, delta;  // as of Reference, but that both may be something else than 0
};
static_assert(sizeof(QueryFacts) == query_facts_bytes);

// Besides what the forward pass is given, of which o and lse are read.
template <class T> struct GradientArguments : Arguments<T> {
  const T* grad_o;              // [batch, heads, sq, dv]
  T *grad_q, *grad_k, *grad_v;  // as q, k and v
  Strides at_grad_o, at_grad_q, at_grad_k, at_grad_v;
  int key_heads;      // heads / group
  QueryFacts* facts;  // [batch, heads, sq], as at_row says
};

// As of the forward pass's arguments.
template <class T> __device__ __forceinline__ void take_sequence(GradientArguments<T>& a, int batch) {
  const Begin begin = take_sequence(static_cast<Arguments<T>&>(a), batch);
  a.grad_o += begin.query * a.at_grad_o.row;
  a.grad_q += begin.query * a.at_grad_q.row;
  a.grad_k += begin.key * a.at_grad_k.row;
  a.grad_v += begin.key * a.at_grad_v.row;
  a.facts += begin.query;
}

enum class Side { queries, keys };

// Rows of one head's tensor.
template <class T> struct Matrix {
  T* data;
  std::int64_t row, element;
  __device__ __forceinline__ Matrix(T* from, const Strides& s, int batch, int head)
      : data(from + batch * s.batch + head * s.head), row(s.row), element(s.element) {}
  __device__ __forceinline__ T* operator()(int i) const { return data + i * row; }
};

// What of one side the other's rows meet: products of `x` are scores, and those of `y` are dP.
template <class T> struct SideRows { Matrix<const T> x, y; };
template <Side S, class T>
__device__ __forceinline__ SideRows<T> rows_of(const GradientArguments<T>& a, int batch, int head) {
  if constexpr (S == Side::queries) return {{a.q, a.at_q, batch, head}, {a.grad_o, a.at_grad_o, batch, head}};
  else return {{a.k, a.at_k, batch, head}, {a.v, a.at_v, batch, head}};
}

// A block's own rows of side S, and what they meet.
template <Side S> struct Meeting {
  static constexpr Side other = S == Side::queries ? Side::keys : Side::queries;

  int batch, head, first;  // head: of this side's
  // Precondition: gridDim.x is batch * heads of this side * tiles of `rows`.
  template <class T> __device__ __forceinline__ Meeting(const GradientArguments<T>& a, int rows) {
    const int tiles = (count(a) + rows - 1) / rows;
    const Place at(tiles, S == Side::queries ? a.heads : a.key_heads);
    batch = at.batch;
    head = at.head;
    // Behind a causal mask the last queries and the first keys take longest: they come first.
    first = (S == Side::queries ? at.tile : tiles - 1 - at.tile) * rows;
  }
  template <class T> static __device__ __forceinline__ int count(const GradientArguments<T>& a) {
    return S == Side::queries ? a.sq : a.sk;
  }
  // Heads of the queries that these rows meet: their own, or all that share the keys.
  template <class T> __device__ __forceinline__ int first_head(const GradientArguments<T>& a) const {
    return S == Side::queries ? head : head * a.group;
  }
  template <class T> static __device__ __forceinline__ int heads(const GradientArguments<T>& a) {
    return S == Side::queries ? 1 : a.group;
  }
  // And the other side's head, of the queries' head.
  template <class T> __device__ __forceinline__ int other_head(const GradientArguments<T>& a, int query_head) const {
    return S == Side::queries ? query_head / a.group : query_head;
  }
  // The other side's rows that any of the rows from i on to j meets, but for the mask tensor.
  template <class T> static __device__ __forceinline__ Keys range(const GradientArguments<T>& a, int i, int j) {
    if constexpr (S == Side::queries) return keys_of(a, i, j);
    else return {::max(0, i - a.shift - a.right), ::min(a.sq, j - a.shift + a.left + 1)};
  }
};

template <class T>
__device__ __forceinline__ const QueryFacts& facts_of(const GradientArguments<T>& a, int batch, int head, int i) {
  return a.facts[batch * a.at_row.batch + head * a.at_row.head + i];
}

// A product and its dP become the score before the mask, and dX / p.
template <class T>
__device__ __forceinline__ void score_gradient(const Scores<T>& scores, const QueryFacts& query, float& product,
                                               float& grad) {
  product = scores.of(product);
  const float ratio = scores.softcap == 0 ? 0 : product / scores.softcap;
  grad = (grad - query.delta) * (1 - ratio * ratio);
}
// The weight of a score that is not -inf. No weight is more than 1: far from 0, a sum in another order than the one
// that gave the base may be far above it.
__device__ __forceinline__ float weight_of(float factor, const QueryFacts& query, float score) {
  const float exponent = fmaf(score - query.base, factor, -query.offset);
  return simt::fast_exp2(query.base != 0 && exponent > 0 ? 0 : exponent);
}
// The score and dX / p become the weight and dX; both no_weight where the score is -inf, which is that of a key not
// attended to.
__device__ __forceinline__ void weigh_gradient(float factor, const QueryFacts& query, float& score, float& grad) {
  const bool none = score == minus_infinity;
  const float weight = weight_of(factor, query, score);
  grad = none ? no_weight : weight * grad;
  score = none ? no_weight : weight;
}

// What the weights of query i are relative to, of whose LSE `lanes` of a warp know. Far from 0 LSE, a float, has lost
// the logarithm of the weights' sum: there it is taken from the scores once more, if it is these keys' LSE, and not one
// of more keys than these. A query without keys has no weights, whatever they would be taken relative to.
template <class T, class Lanes>
__device__ __forceinline__ Reference reference_of_query(const GradientArguments<T>& given, int batch, int head, int i,
                                                        float lse, const Lanes& lanes) {
  if (lse == minus_infinity) return {0, 0};
  if (fabsf(lse * log2_e) <= Reference::far) return {0, lse * log2_e};
  constexpr float same = 0x1p-20f;  // relative: some units of LSE's last place
  Arguments<T> a = given;
  if (const Indices& from = a.sequences.from_q; from.data != nullptr) {  // i counts the rows of all sequences
    for (batch = 0; batch + 1 < a.batch && i >= from(0, batch + 1);) ++batch;
    i -= take_sequence(a, batch).query;
  }
  if (i < 0 || i >= a.sq) return {0, 0};  // it is no sequence's
  const T* q = a.q + batch * a.at_q.batch + head * a.at_q.head + i * a.at_q.row;
  const KeyRows<T> k = k_rows(a, batch, head);
  const Keys keys = keys_of(a, i);
  const Scores<T> scores(a);
  const Place at(batch, head, i);
  const auto score = [&](int key) {
    return scores(a, at, i, key, product_of(q, a.at_q.element, k(key), a.at_k.element, a.d));
  };
  float top = minus_infinity;
  RIDGE_KEEP_LOOP
  for (int key = keys.first + lanes.rank(); key < keys.last; key += lanes.size()) top = fmaxf(top, score(key));
  top = lanes.reduce(top, [](float x, float y) { return fmaxf(x, y); });
  if (top == minus_infinity) return {0, 0};
  RunningRow row = RunningRow::nothing();
  row.raise(top, scores.factor);
  RIDGE_KEEP_LOOP
  for (int key = keys.first + lanes.rank(); key < keys.last; key += lanes.size())
    row.sum += row.weight(row.relative(score(key)), scores.factor);
  row.sum = lanes.reduce(row.sum, [](float x, float y) { return x + y; });
  if (fabsf(row.log_sum(scores.factor) - lse) > same * fabsf(lse)) return {lse * (log2_e / scores.factor), 0};
  return {row.base(), row.offset + log2f(row.sum)};
}

inline constexpr int facts_threads = 128, facts_lanes = 32;  // of a query

// The facts of every query, and of rows that are no sequence's.
// Precondition: gridDim.x * facts_threads / facts_lanes is at least a.rows.
template <class T> __global__ void __launch_bounds__(facts_threads) attention_gradient_facts(GradientArguments<T> a) {
  const simt::tile<facts_lanes> lanes;
  const std::int64_t row = std::int64_t{blockIdx.x} * (facts_threads / facts_lanes) + lanes.index();
  if (row >= a.rows) return;
  const std::int64_t queries = a.at_row.head;
  const int i = static_cast<int>(row % queries), head = static_cast<int>(row / queries % a.heads);
  const int batch = static_cast<int>(row / queries / a.heads);
  const Matrix<const T> o(a.o, a.at_o, batch, head), grad(a.grad_o, a.at_grad_o, batch, head);
  float sum = 0;
  for (int c = lanes.rank(); c < a.dv; c += facts_lanes)
    sum += static_cast<float>(o(i)[c * o.element]) * static_cast<float>(grad(i)[c * grad.element]);
  sum = lanes.reduce(sum, [](float x, float y) { return x + y; });
  const float lse = a.lse[batch * a.at_lse.batch + head * a.at_lse.head + i * a.at_lse.row];
  const Reference weights = reference_of_query(a, batch, head, i, lse, lanes);
  if (lanes.rank() == 0) a.facts[row] = {weights.base, weights.offset, sum};
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
  a.facts = static_cast<QueryFacts*>(call.workspace.data);
  for (const auto& operand : {p.grad_o, p.grad_q, p.grad_k, p.grad_v})
    a.vectors = a.vectors && has_vectors(*operand, p.dtype);
  return a;
}

template <class T> Status launch_facts(const Call& call, const GradientArguments<T>& args) {
  constexpr std::int64_t rows = facts_threads / facts_lanes;
  return simt::launch(launch_config(call, ceil_div(args.rows, rows), facts_threads), attention_gradient_facts<T>, args);
}

// Of the row's kernels over queries, and over keys.
[[maybe_unused]] simt::Config config_of_queries(const Call& call) {
  return launch_config(call, query_blocks(variants[call.plan.variant].config, call.problem));
}
[[maybe_unused]] simt::Config config_of_keys(const Call& call) {
  return launch_config(call, key_blocks(variants[call.plan.variant].config, call.problem));
}

}  // namespace
}  // namespace ridge::attention_detail
