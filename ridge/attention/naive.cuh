// Textbook attention, for any strides: a block per query with three passes over the keys; its gradients, with a block
// per query and one per key; and their launches.
#pragma once
#include <ridge/attention/gradient.cuh>
#include <ridge/attention/launch_table.cuh>
#include <ridge/tile/block_reduce.cuh>

namespace ridge::attention_kernels {

// A block per query computes the maximum score, the sum of P, and the weighted sum of V. Keys may be paged.
// Precondition: gridDim.x is batch * heads * sq, at least 1; dv is at most that of the Config.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads) attention_naive(Arguments<T> a) {
  constexpr int threads = Policy::config.threads;
  constexpr int columns = Policy::config.dv / threads;  // of O, per thread
  static_assert(Policy::config.dv == columns * threads);
  __shared__ float p_tile[threads];
  const BlockCoord at(a.sq, a.heads);
  const int i = at.tile, rank = simt::thread_rank();
  select_sequence(a, at.batch);
  if (i >= a.sq) return;
  const T* q = a.q + at.batch * a.at_q.batch + at.head * a.at_q.head + i * a.at_q.row;
  const KeyRows<T> k = k_rows(a, at.batch, at.head), v = v_rows(a, at.batch, at.head);
  const Scores<T> scores(a);
  const auto score = [&](int key) {
    return scores(a, at, i, key, product_of(q, a.at_q.element, k(key), a.at_k.element, a.d));
  };
  const Keys keys = keys_of(a, i);
  const tile::block<threads, Warp> block;

  float row_max = minus_infinity;
  for (int key = keys.first + rank; key < keys.last; key += threads) row_max = fmaxf(row_max, score(key));
  SoftmaxState row = SoftmaxState::empty();
  row.update_max(block.reduce(row_max, [](float x, float y) { return fmaxf(x, y); }), scores.scale_log2);
  for (int key = keys.first + rank; key < keys.last; key += threads)
    row.sum += row.p_or_masked(row.relative(score(key)), scores.scale_log2);
  row.sum = block.reduce(row.sum, [](float x, float y) { return x + y; });

  float sums[columns] = {};  // columns rank, rank + threads, ...
  for (int first = keys.first; first < keys.last; first += threads) {
    const int count = ::min(threads, keys.last - first);
    if (rank < count) {
      const float p = row.p_or_masked(row.relative(score(first + rank)), scores.scale_log2);
      // P is rounded to V's type, as in kernels for tensor cores.
      p_tile[rank] = is_masked_p(p) ? p : static_cast<float>(T(p));
    }
    __syncthreads();
    for (int n = 0; n < count; ++n) {
      if (is_masked_p(p_tile[n])) continue;
      const T* values = v(first + n);
      RIDGE_UNROLL_ON_GPU
      for (int h = 0; h < columns; ++h)
        if (const int c = rank + h * threads; c < a.dv)
          sums[h] += p_tile[n] * static_cast<float>(values[c * a.at_v.element]);
    }
    __syncthreads();
  }
  T* o = a.o + at.batch * a.at_o.batch + at.head * a.at_o.head + i * a.at_o.row;
  const float inverse = row.inverse();
  RIDGE_UNROLL_ON_GPU
  for (int h = 0; h < columns; ++h)
    if (const int c = rank + h * threads; c < a.dv) o[c * a.at_o.element] = T(sums[h] * inverse);
  if (rank == 0) store_lse(a, at.batch, at.head, i, row.lse(scores.scale_log2));
}

// A block per row of side S. A thread has one row of the other side at a time, and columns of the sums, a block apart.
// Precondition: gridDim.x is batch * heads of side S * its rows, at least 1; d and dv are at most those of the Config.
template <Side S, class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) attention_gradient_naive(GradientArguments<T> a) {
  constexpr int threads = Policy::config.threads;
  constexpr int columns = Policy::config.d / threads;  // of a sum, per thread
  static_assert(Policy::config.d == columns * threads && Policy::config.dv == Policy::config.d);
  __shared__ float p_tile[threads], ds_tile[threads];
  const int rank = simt::thread_rank();
  const Meeting<S> at(a, 1);
  select_sequence(a, at.batch);
  if (at.first >= at.count(a)) return;
  const SideRows<T> own = rows_of<S>(a, at.batch, at.head);
  const Scores<T> scores(a);
  const Keys range = at.range(a, at.first, at.first);
  float of_x[columns] = {}, of_y[columns] = {};  // dQ, or dK and dV
  for (int h = 0; h < at.heads(a); ++h) {
    const int head = at.first_head(a) + h;
    const SideRows<T> other = rows_of<Meeting<S>::other>(a, at.batch, at.other_head(a, head));
    for (int first = range.first; first < range.last; first += threads) {
      const int count = ::min(threads, range.last - first);
      if (rank < count) {
        const int n = first + rank, i = S == Side::queries ? at.first : n, key = S == Side::queries ? n : at.first;
        float p = product_of(own.x(at.first), own.x.element, other.x(n), other.x.element, a.d);
        float grad = product_of(own.y(at.first), own.y.element, other.y(n), other.y.element, a.dv);
        const QueryStats& query = stats_of(a, at.batch, head, i);
        score_gradient(scores, query, p, grad);
        p = scores.where_attends(a, at.batch, head, i, key, p);
        compute_p_ds(scores.scale_log2, query, p, grad);
        p_tile[rank] = p;
        ds_tile[rank] = grad;
      }
      __syncthreads();
      for (int n = 0; n < count; ++n) {
        if (is_masked_p(p_tile[n])) continue;
        RIDGE_UNROLL_ON_GPU
        for (int part = 0; part < columns; ++part) {
          const int c = rank + part * threads;
          if (c < a.d) of_x[part] += ds_tile[n] * static_cast<float>(other.x(first + n)[c * other.x.element]);
          if (S == Side::keys && c < a.dv)
            of_y[part] += p_tile[n] * static_cast<float>(other.y(first + n)[c * other.y.element]);
        }
      }
      __syncthreads();
    }
  }
  const auto store = [&](const Matrix<T>& to, int width, const float(&sums)[columns], float scale) {
    RIDGE_UNROLL_ON_GPU
    for (int h = 0; h < columns; ++h)
      if (const int c = rank + h * threads; c < width) to(at.first)[c * to.element] = T(sums[h] * scale);
  };
  if constexpr (S == Side::queries) {
    store({a.grad_q, a.at_grad_q, at.batch, at.head}, a.d, of_x, a.scale);
  } else {
    store({a.grad_k, a.at_grad_k, at.batch, at.head}, a.d, of_x, a.scale);
    store({a.grad_v, a.at_grad_v, at.batch, at.head}, a.dv, of_y, 1);
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

template <class T, int Warp> struct NaiveRows : RowsOf<Algorithm::naive, T> {
  template <int I> static Status launch(const Call& call) {
    return simt::launch(launch_config(call, call.plan.blocks), attention_naive<Policy<I>, T, Warp>,
                        arguments_of<T>(call));
  }
};

template <class T> struct NaiveGradientRows : RowsOf<Algorithm::naive, T> {
  template <int I> static Status launch(const Call& call) {
    const auto args = gradient_arguments_of<T>(call);
    RIDGE_TRY(launch_stats(call, args));
    RIDGE_TRY(simt::launch(config_of_keys(call), attention_gradient_naive<Side::keys, Policy<I>, T>, args));
    return simt::launch(config_of_queries(call), attention_gradient_naive<Side::queries, Policy<I>, T>, args);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
