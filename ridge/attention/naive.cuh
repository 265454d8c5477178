// The textbook's attention, for any strides: a block per query with three passes over the keys; its gradients, by a
// block per query and one per key; and their launches.
#pragma once
#include <ridge/attention/gradient.cuh>
#include <ridge/attention/launch_table.cuh>
#include <ridge/tile/block_reduce.cuh>

namespace ridge::attention_kernels {

// A block for each query: the greatest score; the sum of weights; the weighted sum of V. Keys may be in pages.
// Precondition: gridDim.x is batch * heads * sq, at least 1; dv is at most 2 threads(c).
template <class Row, class T, int Warp>
__global__ void __launch_bounds__(Row::config.threads) attention_naive(Arguments<T> a) {
  constexpr int threads = Row::config.threads;
  static_assert(Row::config.dv <= 2 * threads);
  __shared__ float weights[threads];
  const Place at(a.sq, a.heads);
  const int i = at.tile, rank = simt::thread_rank();
  take_sequence(a, at.batch);
  if (i >= a.sq) return;
  const T* q = a.q + at.batch * a.at_q.batch + at.head * a.at_q.head + i * a.at_q.row;
  const KeyRows<T> k = k_rows(a, at.batch, at.head), v = v_rows(a, at.batch, at.head);
  const Scores<T> scores(a);
  const auto score = [&](int key) {
    return scores(a, at, i, key, product_of(q, a.at_q.element, k(key), a.at_k.element, a.d));
  };
  const Keys keys = keys_of(a, i);
  const tile::block<threads, Warp> block;

  float top = minus_infinity;
  for (int key = keys.first + rank; key < keys.last; key += threads) top = fmaxf(top, score(key));
  RunningRow row = RunningRow::nothing();
  row.raise(block.reduce(top, [](float x, float y) { return fmaxf(x, y); }), scores.factor);
  for (int key = keys.first + rank; key < keys.last; key += threads)
    row.sum += row.weight_or_none(row.relative(score(key)), scores.factor);
  row.sum = block.reduce(row.sum, [](float x, float y) { return x + y; });

  float sums[2] = {0, 0};  // of columns rank and rank + threads
  for (int first = keys.first; first < keys.last; first += threads) {
    const int count = ::min(threads, keys.last - first);
    if (rank < count) {
      const float weight = row.weight_or_none(row.relative(score(first + rank)), scores.factor);
      // What V is multiplied with is of its type, as in kernels for tensor cores.
      weights[rank] = is_no_weight(weight) ? weight : static_cast<float>(T(weight));
    }
    __syncthreads();
    for (int n = 0; n < count; ++n) {
      if (is_no_weight(weights[n])) continue;
      const T* values = v(first + n);
      RIDGE_UNROLL_ON_GPU
      for (int h = 0; h < 2; ++h)
        if (const int c = rank + h * threads; c < a.dv)
          sums[h] += weights[n] * static_cast<float>(values[c * a.at_v.element]);
    }
    __syncthreads();
  }
  T* o = a.o + at.batch * a.at_o.batch + at.head * a.at_o.head + i * a.at_o.row;
  const float inverse = row.inverse();
  RIDGE_UNROLL_ON_GPU
  for (int h = 0; h < 2; ++h)
    if (const int c = rank + h * threads; c < a.dv) o[c * a.at_o.element] = T(sums[h] * inverse);
  if (rank == 0) put_lse(a, at.batch, at.head, i, row.log_sum(scores.factor));
}

// A block for each row of side S. A thread has one row of the other at a time, and of the sums its column and the one
// `threads` further.
// Precondition: gridDim.x is batch * heads of side S * its rows, at least 1; d and dv are at most 2 threads(c).
template <Side S, class Row, class T>
__global__ void __launch_bounds__(Row::config.threads) attention_gradient_naive(GradientArguments<T> a) {
  constexpr int threads = Row::config.threads;
  static_assert(Row::config.dv <= 2 * threads && Row::config.d <= 2 * threads);
  __shared__ float weights[threads], grads[threads];
  const int rank = simt::thread_rank();
  const Meeting<S> at(a, 1);
  take_sequence(a, at.batch);
  if (at.first >= at.count(a)) return;
  const SideRows<T> own = rows_of<S>(a, at.batch, at.head);
  const Scores<T> scores(a);
  const Keys range = at.range(a, at.first, at.first);
  float of_x[2] = {0, 0}, of_y[2] = {0, 0};  // dQ, or dK and dV
  for (int h = 0; h < at.heads(a); ++h) {
    const int head = at.first_head(a) + h;
    const SideRows<T> other = rows_of<Meeting<S>::other>(a, at.batch, at.other_head(a, head));
    for (int first = range.first; first < range.last; first += threads) {
      const int count = ::min(threads, range.last - first);
      if (rank < count) {
        const int n = first + rank, i = S == Side::queries ? at.first : n, key = S == Side::queries ? n : at.first;
        float weight = product_of(own.x(at.first), own.x.element, other.x(n), other.x.element, a.d);
        float grad = product_of(own.y(at.first), own.y.element, other.y(n), other.y.element, a.dv);
        const QueryFacts& query = facts_of(a, at.batch, head, i);
        score_gradient(scores, query, weight, grad);
        weight = scores.where_attends(a, at.batch, head, i, key, weight);
        weigh_gradient(scores.factor, query, weight, grad);
        weights[rank] = weight;
        grads[rank] = grad;
      }
      __syncthreads();
      for (int n = 0; n < count; ++n) {
        if (is_no_weight(weights[n])) continue;
        RIDGE_UNROLL_ON_GPU
        for (int half = 0; half < 2; ++half) {
          const int c = rank + half * threads;
          if (c < a.d) of_x[half] += grads[n] * static_cast<float>(other.x(first + n)[c * other.x.element]);
          if (S == Side::keys && c < a.dv)
            of_y[half] += weights[n] * static_cast<float>(other.y(first + n)[c * other.y.element]);
        }
      }
      __syncthreads();
    }
  }
  const auto put = [&](const Matrix<T>& to, int columns, const float(&sums)[2], float scale) {
    RIDGE_UNROLL_ON_GPU
    for (int half = 0; half < 2; ++half)
      if (const int c = rank + half * threads; c < columns) to(at.first)[c * to.element] = T(sums[half] * scale);
  };
  if constexpr (S == Side::queries) {
    put({a.grad_q, a.at_grad_q, at.batch, at.head}, a.d, of_x, a.scale);
  } else {
    put({a.grad_k, a.at_grad_k, at.batch, at.head}, a.d, of_x, a.scale);
    put({a.grad_v, a.at_grad_v, at.batch, at.head}, a.dv, of_y, 1);
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

template <class T, int Warp> struct NaiveRows : RowsOf<Algorithm::naive, T> {
  template <int I> static Status launch(const Call& call) {
    return simt::launch(launch_config(call, call.plan.blocks), attention_naive<Row<I>, T, Warp>, arguments_of<T>(call));
  }
};

template <class T> struct NaiveGradientRows : RowsOf<Algorithm::naive, T> {
  template <int I> static Status launch(const Call& call) {
    const auto args = gradient_arguments_of<T>(call);
    RIDGE_TRY(launch_facts(call, args));
    RIDGE_TRY(simt::launch(config_of_keys(call), attention_gradient_naive<Side::keys, Row<I>, T>, args));
    return simt::launch(config_of_queries(call), attention_gradient_naive<Side::queries, Row<I>, T>, args);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
