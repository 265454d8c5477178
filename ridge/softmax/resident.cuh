// The row is read once and kept on chip: in registers, and past those in shared memory.
#pragma once
#include <ridge/softmax/variants.hpp>
#include <ridge/tile/online_softmax.cuh>
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/packed_max.cuh>
#include <ridge/tile/row_reduce.cuh>

namespace ridge::softmax_detail {

using tile::Packed;
using tile::unpack;
template <class T> using Unit = tile::Unit<T>;

inline constexpr int spill_batch = 4;  // units that a lane moves to shared memory together: as many loads in flight

// One row whose greatest element is too large for ScaledExponential, or not finite: read again, element by element.
template <int L, int Warp, class T>
__device__ void softmax_huge(const T* in, T* out, std::int64_t cols, float max, int lane, bool log,
                             tile::RowScratch<float, L, Warp>& scratch) {
  float sum = 0;
  for (std::int64_t i = lane; i < cols; i += L) sum += tile::exponential(float(in[i]) - max);
  sum = tile::row_reduce<L, Warp>(
      sum, [](float a, float b) { return a + b; }, scratch);
  const float log_sum = logf(sum);
  for (std::int64_t i = lane; i < cols; i += L) {
    const float d = float(in[i]) - max;
    out[i] = T(log ? d - log_sum : tile::exponential(d) / sum);
  }
}

// y[r][:] = softmax(x[r][:])                         x: [rows, cols], pitch_x between rows; y the same with pitch_y
// Preconditions: rows of x and y lie alike on 16-byte units, and cols / V units fit in capacity(Config); gridDim.x *
// rows_per_block covers rows; smem_bytes(Config) of dynamic shared memory. y may be x.
template <class Row, class T, int Warp>
__global__ void __launch_bounds__(Row::config.threads, Row::config.blocks_per_sm)
    softmax_resident(const T* x, T* y, std::int64_t rows, std::int64_t cols, std::int64_t pitch_x, std::int64_t pitch_y,
                     bool log) {
  constexpr Config c = Row::config;
  constexpr int threads = Row::config.threads, L = lanes(c), V = unit_bytes / sizeof(T), K = c.in_registers,
                S = c.in_shared;
  static_assert(L <= Warp || c.rows == 1, "a row of several warps is a whole block's");
  static_assert(S % spill_batch == 0, "shared memory is filled in whole batches");
  __shared__ tile::RowScratch<float, L, Warp> scratch_max, scratch_sum;
  Packed* spill = simt::dynamic_shared<Packed>() + threadIdx.x;  // [S][threads], this lane's column

  const int lane = threadIdx.x % L;
  const std::int64_t row = std::int64_t{blockIdx.x} * c.rows + threadIdx.x / L;
  if (row >= rows) return;          // a whole tile of lanes: nobody waits for it
  const T* in = x + row * pitch_x;  // [cols]
  T* out = y + row * pitch_y;       // [cols]

  // A row is head elements up to a 16-byte boundary, whole units, and tail elements: fewer than V at either end.
  const int to_boundary =
      static_cast<int>((unit_bytes - reinterpret_cast<std::uintptr_t>(in) % unit_bytes) % unit_bytes / sizeof(T));
  const int head = cols < to_boundary ? static_cast<int>(cols) : to_boundary;
  const int units = static_cast<int>((cols - head) / V);
  const int tail_start = head + units * V, tail = static_cast<int>(cols) - tail_start;
  // Lane i keeps head element i, lane tail_lane + i tail element i: one element more in every lane.
  constexpr int tail_lane = V;
  static_assert(2 * V <= L, "head and tail have lanes of their own");
  const int edge_at = lane < head                                    ? lane
                      : lane >= tail_lane && lane - tail_lane < tail ? tail_start + lane - tail_lane
                                                                     : -1;

  // ---- load: everything once; what is not the row's is -inf, which changes neither maximum nor sum. No branch stands
  // between the loads: all of them are to be in flight before the first is used.
  const Packed nothing = tile::packed_fill<T>(tile::minus_infinity<float>);
  const auto load = [&](int k) {
    const int unit = k * L + lane;
    return unit < units ? tile::load_packed(in + head + unit * V) : nothing;
  };
  const auto used = [&](int k) { return k * L < units; };  // alike in all lanes of the row: no divergence
  Packed kept[K];
#pragma unroll
  for (int k = 0; k < K; ++k) kept[k] = load(k);
  for (int s = 0; s < S; s += spill_batch)
    if (used(K + s)) {
      Packed batch[spill_batch];
#pragma unroll
      for (int i = 0; i < spill_batch; ++i) batch[i] = load(K + s + i);
#pragma unroll
      for (int i = 0; i < spill_batch; ++i) spill[(s + i) * threads] = batch[i];
    }
  const float edge = edge_at >= 0 ? float(in[edge_at]) : tile::minus_infinity<float>;

  // Calls f(packed, k) for every unit that the row uses. Between passes the units are made opaque, or the compiler would
  // carry every element converted, and its exponential, in registers it does not have.
  const auto for_each_unit = [&](auto&& f) {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (used(k)) f(kept[k], k);
      tile::make_opaque(kept[k]);
    }
    for (int s = 0; s < S; s += spill_batch)
      if (used(K + s)) {
#pragma unroll
        for (int i = 0; i < spill_batch; ++i) f(spill[(s + i) * threads], K + s + i);
      }
  };

  // ---- compute: maximum, then the sum of exponentials
  Packed largest = nothing;
  for_each_unit([&](const Packed& packed, int) {
#pragma unroll
    for (int w = 0; w < tile::unit_words; ++w) largest[w] = tile::packed_max<T>(largest[w], packed[w]);
  });
  float max = edge;
  tile::for_elements<T>(largest, [&](float e, int) { max = tile::greater(max, e); });
  max = tile::row_reduce<L, Warp>(
      max, [](float a, float b) { return tile::greater(a, b); }, scratch_max);
  if (!tile::ScaledExponential::takes(max)) {  // alike in all lanes of the row
    softmax_huge<L, Warp>(in, out, cols, max, lane, log, scratch_sum);
    return;
  }
  const tile::ScaledExponential exponential(tile::softmax_base(max));

  float sum = exponential(edge);
  for_each_unit(
      [&](const Packed& packed, int) { tile::for_elements<T>(packed, [&](float e, int) { sum += exponential(e); }); });
  sum = tile::row_reduce<L, Warp>(
      sum, [](float a, float b) { return a + b; }, scratch_sum);

  // ---- finish
  const float scale = 1.0f / sum, log_sum = log ? exponential.log_of_sum(sum) : 0.0f;
  const auto answer = [&](float value) {
    return log ? value - exponential.base - log_sum : exponential(value) * scale;
  };
  for_each_unit([&](const Packed& packed, int k) {
    const int at = k * L + lane;
    if (at >= units) return;
    tile::Floats<T> unit = tile::unpack_floats<T>(packed);
#pragma unroll
    for (int v = 0; v < V; ++v) unit[v] = answer(unit[v]);
    tile::store_packed(out + head + at * V, tile::pack_floats<T>(unit));
  });
  if (edge_at >= 0) out[edge_at] = T(answer(edge));
}

}  // namespace ridge::softmax_detail
