// Textbook attention with 16x16 tiles in shared memory and online softmax, for any strides; and its launch.
#pragma once
#include <ridge/attention/launch_table.cuh>
#include <ridge/attention/parts.cuh>

namespace ridge::attention_kernels {

// A block has 16 rows, and 16 keys per iteration: a thread has one score of a tile, and every 16th column of its row of
// O. Rows are queries with `pack` heads each: query first + row / pack of head first + row % pack, so that heads which
// share K and V share a block. With more than one split, gridDim.y is their number, and O and its statistics go to
// `partial`, for attention_merge_kernel.
//   shared  q [16][d + 1]  k [16][d + 1]  v [16][dv]
// Precondition: gridDim.x is batch * heads / pack * tiles of rows, at least 1. Paged keys need split.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    attention_tiled(Arguments<T> a) {
  constexpr Config c = Policy::config;
  constexpr int side = c.bn, columns = c.dv / side;
  static_assert(c.bm == side && c.threads == side * side);
  float* q = simt::dynamic_shared<float>();
  const int pitch = a.d + 1, rank = simt::thread_rank(), row = rank / side, lane = rank % side;
  float *k = q + side * pitch, *v = k + side * pitch;
  const int pack = c.packed ? a.pack : 1;
  const BlockCoord at((a.sq * pack + side - 1) / side, a.heads / pack);
  select_sequence(a, at.batch);
  const int rows = a.sq * pack, first_row = at.tile * side;
  if (first_row >= rows) return;
  // This thread's query and head, and the tile's first head.
  const int first_head = at.head * pack, mine = ::min(first_row + row, rows - 1);
  const int i = mine / pack, head = first_head + mine % pack;
  const bool valid = first_row + row < rows;
  const KeyRows<T> from_k = k_rows(a, at.batch, first_head), from_v = v_rows(a, at.batch, first_head);
  const Scores<T> scores(a);
  // Loads this thread's part of a row of a tile, every 16th column; 0 if the row does not exist.
  const auto load = [=](float* to, int to_pitch, const T* from, std::int64_t step, int width) {
    for (int n = lane; n < width; n += side)
      to[row * to_pitch + n] = from == nullptr ? 0.0f : static_cast<float>(from[n * step]);
  };
  const T* from_q = a.q + at.batch * a.at_q.batch + head * a.at_q.head + i * a.at_q.row;
  load(q, pitch, valid ? from_q : nullptr, a.at_q.element, a.d);

  const simt::tile<side> lanes;
  SoftmaxState running = SoftmaxState::empty();
  float sums[columns];
  RIDGE_UNROLL_ON_GPU
  for (int n = 0; n < columns; ++n) sums[n] = 0;
  const Keys all = keys_of(a, first_row / pack, (::min(first_row + side, rows) - 1) / pack);
  const Keys keys = c.split ? part_of(all, side, static_cast<int>(blockIdx.y), a.splits) : all;
  for (int first = keys.first; first < keys.last; first += side) {
    const int key = first + row;
    load(k, pitch, key < keys.last ? from_k(key) : nullptr, a.at_k.element, a.d);
    load(v, a.dv, key < keys.last ? from_v(key) : nullptr, a.at_v.element, a.dv);
    __syncthreads();
    if (valid) {
      float product = 0;
      for (int n = 0; n < a.d; ++n) product += q[row * pitch + n] * k[lane * pitch + n];
      const float score =
          first + lane < keys.last ? scores(a, at.with_head(head), i, first + lane, product) : minus_infinity;
      const float row_max = fmaxf(running.row_max, lanes.reduce(score, [](float x, float y) { return fmaxf(x, y); }));
      const float change = running.update_max(row_max, scores.scale_log2);
      const float weight = running.p_or_masked(running.relative(score), scores.scale_log2);
      running.sum += weight;
      const float rounded = is_masked_p(weight) ? weight : static_cast<float>(T(weight));  // V's type
      RIDGE_UNROLL_ON_GPU
      for (int n = 0; n < columns; ++n) sums[n] *= change;
      for (int other = 0; other < side; ++other) {
        const float w = lanes.shfl(rounded, other);
        if (is_masked_p(w)) continue;
        RIDGE_UNROLL_ON_GPU
        for (int n = 0; n < columns; ++n)
          if (lane + n * side < a.dv) sums[n] += w * v[other * a.dv + lane + n * side];
      }
    }
    __syncthreads();
  }
  running.sum = lanes.reduce(running.sum, [](float x, float y) { return x + y; });
  if (!valid) return;
  const float inverse = running.inverse();
  if (c.split && a.splits > 1) {
    const std::int64_t place = blockIdx.y * a.rows + at.batch * a.at_row.batch + head * a.at_row.head + i;
    RIDGE_UNROLL_ON_GPU
    for (int n = 0; n < columns; ++n)
      if (lane + n * side < a.dv) a.partial_o[place * a.dv + lane + n * side] = sums[n] * inverse;
    if (lane == 0) store_part(a, place, running, scores.scale_log2);
    return;
  }
  T* o = a.o + at.batch * a.at_o.batch + head * a.at_o.head + i * a.at_o.row;
  RIDGE_UNROLL_ON_GPU
  for (int n = 0; n < columns; ++n)
    if (lane + n * side < a.dv) o[(lane + n * side) * a.at_o.element] = T(sums[n] * inverse);
  if (lane == 0) store_lse(a, at.batch, head, i, running.lse(scores.scale_log2));
}

}  // namespace ridge::attention_kernels

namespace ridge::attention_detail {
namespace {

template <class T, int Warp> struct TiledRows : RowsOf<Algorithm::tiled, T> {
  template <int I> static Status launch(const Call& call) {
    const Arguments<T> args = arguments_of<T>(call);
    RIDGE_TRY(simt::launch(launch_config(call, call.plan.blocks), attention_tiled<Policy<I>, T, Warp>, args));
    if constexpr (variants[I].config.split) return launch_parts<T>(call, args);
    else return {};
  }
};

}  // namespace
}  // namespace ridge::attention_detail
