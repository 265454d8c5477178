// Attention of float32 in double-float arithmetic (tile/two_float.cuh), for devices whose float64 is slow; and its
// launch.
//
// float32 errs with the size of the scores: a product of 64 terms about 800 errs by 1e-4, and P by as large a share.
// Here products are exact, and their sums, the scale, the mask, P and the sums of P and of P V are unevaluated sums of
// two floats. The exponential has 35 bits, and O is rounded once.
#pragma once
#include <ridge/attention/launch_table.cuh>
#include <ridge/tile/two_float_exponential.cuh>

namespace ridge::attention_kernels {

using tile::TwoFloat;

// The logarithm of a sum of P relative to that maximum.
__device__ __forceinline__ float log_of(TwoFloat row_max, TwoFloat sum) {
  return tile::to_float(tile::add(tile::logarithm(sum), row_max));
}
// e^(x - from), of normalised numbers.
__device__ __forceinline__ TwoFloat exponential_from(TwoFloat x, TwoFloat from) {
  return tile::exponential(tile::normalised(tile::add(x, tile::minus(from))));
}

// A block has bm queries of one head, and bn keys per iteration. A thread has bm / 16 x bn / 16 scores of a tile and
// every 16th column of its rows of O.
//   shared  q [bm][d + 1]  k [bn][d + 1]  v [bn][dv]
// Preconditions: no softcap; gridDim.x is batch * heads * tiles of rows, at least 1.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads) attention_two_float(Arguments<float> a, TwoFloat scale) {
  constexpr Config c = Policy::config;
  constexpr int side = 16, rows = c.bm / side, cols = c.bn / side, columns = c.dv / side;
  static_assert(c.threads == side * side && c.bm % side == 0 && c.bn % side == 0 && c.dv % side == 0);
  const int pitch = a.d + 1, rank = simt::thread_rank(), first_row = rank / side, lane = rank % side;
  float* q = simt::dynamic_shared<float>();
  float *k = q + c.bm * pitch, *v = k + c.bn * pitch;
  const BlockCoord at((a.sq + c.bm - 1) / c.bm, a.heads);
  select_sequence(a, at.batch);
  const int first_query = at.tile * c.bm;
  if (first_query >= a.sq) return;
  const KeyRows<float> from_k = k_rows(a, at.batch, at.head), from_v = v_rows(a, at.batch, at.head);
  const auto query_of = [=](int i) { return first_query + first_row + i * side; };
  // Loads this thread's part of a row of a tile, every 16th column; 0 if the row does not exist.
  const auto load = [=](float* to, const float* from, std::int64_t step, int width) {
    for (int n = lane; n < width; n += side) to[n] = from == nullptr ? 0.0f : from[n * step];
  };
  const float* from_q = a.q + at.batch * a.at_q.batch + at.head * a.at_q.head;
  RIDGE_UNROLL_ON_GPU
  for (int i = 0; i < rows; ++i) {
    const int query = query_of(i);
    load(q + (first_row + i * side) * pitch, query < a.sq ? from_q + query * a.at_q.row : nullptr, a.at_q.element, a.d);
  }

  const simt::tiles<side> lanes;
  TwoFloat row_max[rows];                     // both parts: beyond 2^22 the low one is what tells scores apart
  TwoFloat total[rows], sums[rows][columns];  // of P over this thread's keys, and of P V
  RIDGE_UNROLL_ON_GPU
  for (int i = 0; i < rows; ++i) {
    row_max[i] = {minus_infinity, 0};
    total[i] = {};
    RIDGE_UNROLL_ON_GPU
    for (int n = 0; n < columns; ++n) sums[i][n] = {};
  }
  // A score, normalised; -inf where the query does not attend to the key.
  const auto score_of = [&](int query, int key, TwoFloat product) -> TwoFloat {
    if (!span_of(a, query, key, key + 1).contains(0)) return {minus_infinity, 0};
    TwoFloat score = tile::multiply(product, scale);
    if (a.mask) {
      const float bias = mask_at(a, at.batch, at.head, query, key);
      if (bias == minus_infinity) return {minus_infinity, 0};
      score = tile::add(score, bias);
    }
    return tile::normalised(score);
  };

  const Keys keys = keys_of(a, first_query, ::min(first_query + c.bm, a.sq) - 1);
  for (int first = keys.first; first < keys.last; first += c.bn) {
    RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < cols; ++j) {
      const int row = first_row + j * side, key = first + row;
      load(k + row * pitch, key < keys.last ? from_k(key) : nullptr, a.at_k.element, a.d);
      load(v + row * a.dv, key < keys.last ? from_v(key) : nullptr, a.at_v.element, a.dv);
    }
    __syncthreads();

    TwoFloat products[rows][cols] = {};
    for (int n = 0; n < a.d; ++n) {
      float x[rows], y[cols];
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < rows; ++i) x[i] = q[(first_row + i * side) * pitch + n];
      RIDGE_UNROLL_ON_GPU
      for (int j = 0; j < cols; ++j) y[j] = k[(lane + j * side) * pitch + n];
      RIDGE_UNROLL_ON_GPU
      for (int i = 0; i < rows; ++i) RIDGE_UNROLL_ON_GPU
      for (int j = 0; j < cols; ++j) products[i][j] = tile::add(products[i][j], tile::two_product(x[i], y[j]));
    }

    TwoFloat weights[rows][cols];  // P; masked ones are masked_p
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < rows; ++i) {
      TwoFloat most = row_max[i];
      RIDGE_UNROLL_ON_GPU
      for (int j = 0; j < cols; ++j) {
        products[i][j] = score_of(query_of(i), first + lane + j * side, products[i][j]);
        most = tile::greater(most, products[i][j]);
      }
      most = lanes.reduce(most, [](TwoFloat x, TwoFloat y) { return tile::greater(x, y); });
      const TwoFloat change = row_max[i].high == minus_infinity ? TwoFloat{0, 0} : exponential_from(row_max[i], most);
      row_max[i] = most;
      total[i] = tile::multiply(total[i], change);
      RIDGE_UNROLL_ON_GPU
      for (int n = 0; n < columns; ++n) sums[i][n] = tile::multiply(sums[i][n], change);
      RIDGE_UNROLL_ON_GPU
      for (int j = 0; j < cols; ++j) {
        const TwoFloat score = products[i][j];
        weights[i][j] = score.high == minus_infinity ? TwoFloat{masked_p, 0} : exponential_from(score, most);
        total[i] = tile::add(total[i], weights[i][j]);
      }
    }

    RIDGE_UNROLL_ON_GPU
    for (int j = 0; j < cols; ++j)
      for (int other = 0; other < side; ++other) {
        const float* values = v + (other + j * side) * a.dv;
        RIDGE_UNROLL_ON_GPU
        for (int i = 0; i < rows; ++i) {
          const TwoFloat p = lanes.shfl(weights[i][j], other);
          if (is_masked_p(p.high)) continue;
          RIDGE_UNROLL_ON_GPU
          for (int n = 0; n < columns; ++n)
            if (const int column = lane + n * side; column < a.dv)
              sums[i][n] = tile::add(sums[i][n], tile::multiply(p, values[column]));
        }
      }
    __syncthreads();
  }

  RIDGE_UNROLL_ON_GPU
  for (int i = 0; i < rows; ++i) {
    const TwoFloat sum = lanes.reduce(total[i], [](TwoFloat x, TwoFloat y) { return tile::add(x, y); });
    const int query = query_of(i);
    if (query >= a.sq) continue;
    const bool is_empty = row_max[i].high == minus_infinity && sum.high == 0;
    float* o = a.o + at.batch * a.at_o.batch + at.head * a.at_o.head + query * a.at_o.row;
    RIDGE_UNROLL_ON_GPU
    for (int n = 0; n < columns; ++n)
      if (const int column = lane + n * side; column < a.dv)
        o[column * a.at_o.element] = is_empty ? 0.0f : tile::quotient(sums[i][n], sum);
    if (lane == 0) store_lse(a, at.batch, at.head, query, is_empty ? minus_infinity : log_of(row_max[i], sum));
  }
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

struct TwoFloatRows : RowsOf<Algorithm::two_float, float> {
  template <int I> static Status launch(const Call& call) {
    return simt::launch(launch_config(call, call.plan.blocks), attention_two_float<Policy<I>>,
                        arguments_of<float>(call), tile::two_floats(scale_of(call.problem)));
  }
};

}  // namespace
}  // namespace ridge::attention_detail
