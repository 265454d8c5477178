// Short vector-aligned rows (whole 16-byte vectors): a lane has one vector of each of several rows at a time; their
// loads and reductions do not wait for one another.
#pragma once
#include <ridge/softmax/resident.cuh>

namespace ridge::softmax_detail {

// y[r][:] = softmax(x[r][:])                         x: [rows, cols], pitch_x between rows; y the same with pitch_y
// Policy::config: a block has `rows` rows side by side, `rows_per_lane` times.
// Preconditions: rows of x and y are vector-aligned, with at most one vector for each lane; the grid covers rows. y may
// be x.
template <class Policy, class T, int Warp>
__global__ void __launch_bounds__(Policy::config.threads)
    softmax_short(const T* x, T* y, std::int64_t rows, std::int64_t cols, std::int64_t pitch_x, std::int64_t pitch_y,
                  bool log) {
  constexpr Config c = Policy::config;
  constexpr int per_lane = c.rows_per_lane, V = tile::vector_elements<T>;
  using Team = tile::BlockRows<c.threads, c.rows, Warp>;
  static_assert(Team::lanes <= Team::warp, "a row is part of a warp");
  __shared__ typename Team::template Scratch<float> scratch;
  const simt::tiles<Team::lanes> together;
  const int at = Team::lane() * V;
  const std::int64_t first = std::int64_t{blockIdx.x} * c.rows * per_lane + Team::row_of_block();
  const auto exists = [&](int t) { return at < cols && first + t * c.rows < rows; };

  // ---- load: absent vectors are -inf, which changes neither maximum nor sum
  Packed vector[per_lane];
#pragma unroll
  for (int t = 0; t < per_lane; ++t)
    vector[t] = exists(t) ? tile::load_packed(x + (first + t * c.rows) * pitch_x + at)
                          : tile::packed_fill<T>(tile::minus_infinity<float>);

  // ---- compute: rows side by side
  float max[per_lane], sum[per_lane];
#pragma unroll
  for (int t = 0; t < per_lane; ++t) {
    max[t] = tile::minus_infinity<float>;
    tile::for_elements<T>(vector[t], [&](float e, int) { max[t] = tile::greater(max[t], e); });
  }
#pragma unroll
  for (int t = 0; t < per_lane; ++t)
    max[t] = together.reduce(max[t], [](float a, float b) { return tile::greater(a, b); });
#pragma unroll
  for (int t = 0; t < per_lane; ++t) {
    const tile::ScaledExponential exponential(slice_base(max[t]));
    sum[t] = 0;
    tile::for_elements<T>(vector[t], [&](float e, int) { sum[t] += exponential(e); });
  }
#pragma unroll
  for (int t = 0; t < per_lane; ++t) sum[t] = together.reduce(sum[t], sum_of);

    // ---- finish
#pragma unroll
  for (int t = 0; t < per_lane; ++t) {
    const std::int64_t row = first + t * c.rows;
    if (row >= rows) break;  // all lanes of the row
    T* out = y + row * pitch_y;
    if (!tile::ScaledExponential::takes(max[t])) {  // uniform over the row's lanes
      tile::WholeRow::ExchangeBuffer exchange_buffer;
      tile::WholeRow whole(exchange_buffer);
      softmax_huge<Team>(x + row * pitch_x, out, static_cast<int>(cols), max[t], log, scratch, whole);
      continue;
    }
    if (at >= cols) continue;
    const tile::ScaledExponential exponential(slice_base(max[t]));
    const float scale = 1.0f / sum[t], log_sum = log ? exponential.log_of_sum(sum[t]) : 0.0f;
    tile::Floats<T> e = tile::unpack_floats<T>(vector[t]);
#pragma unroll
    for (int v = 0; v < V; ++v) e[v] = log ? e[v] - exponential.base - log_sum : exponential(e[v]) * scale;
    tile::store_packed(out + at, tile::pack_floats<T>(e));
  }
}

namespace short_rows {

template <class Policy, class T, int Warp> static Status launch(const Forward<T>& call) {
  const SoftmaxProblem& p = call.plan.problem;
  return simt::launch(launch_config(call, Warp), softmax_short<Policy, T, Warp>, call.x, call.y, p.rows, p.cols,
                      p.x->pitch(), p.y->pitch(), p.log);
}

}  // namespace short_rows
}  // namespace ridge::softmax_detail
