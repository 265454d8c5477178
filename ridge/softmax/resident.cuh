// The row is read once and kept on chip: in registers, and past those in shared memory.
#pragma once
#include <ridge/softmax/variants.hpp>
#include <ridge/tile/opaque.cuh>
#include <ridge/tile/online_softmax.cuh>
#include <ridge/tile/row_reduce.cuh>

namespace ridge::softmax_detail {

// A 16-byte unit of a row: as its T elements, and packed in the four registers that it is kept in. (Kept as elements,
// 16-bit types would take a register each.)
template <class T> using Unit = simt::vec<T, unit_bytes / sizeof(T)>;
using Packed = simt::vec<unsigned, unit_bytes / sizeof(unsigned)>;

template <class T> __device__ __forceinline__ Packed pack(const Unit<T>& unit) {
  Packed packed;
  memcpy(&packed, &unit, sizeof packed);
  return packed;
}
template <class T> __device__ __forceinline__ Unit<T> unpack(const Packed& packed) {
  Unit<T> unit;
  memcpy(&unit, &packed, sizeof unit);
  return unit;
}

// y[r][:] = softmax(x[r][:])                         x: [rows, cols], pitch_x between rows; y the same with pitch_y
// Preconditions: rows of x and y lie alike on 16-byte units; cols and what precedes them in the first unit fit in
// capacity(Config); gridDim.x * rows_per_block covers rows; smem_bytes(Config) of dynamic shared memory. y may be x.
template <class Row, class T, int Warp>
__global__ void __launch_bounds__(Row::config.threads, Row::config.blocks_per_sm)
    softmax_resident(const T* x, T* y, std::int64_t rows, std::int64_t cols, std::int64_t pitch_x, std::int64_t pitch_y, bool log) {
  constexpr Config c = Row::config;
  constexpr int L = lanes(c), V = unit_bytes / sizeof(T), K = c.in_registers, S = c.in_shared;
  static_assert(L <= Warp || c.rows == 1, "a row of several warps is a whole block's");
  constexpr float floor = tile::minus_infinity<float>;
  __shared__ tile::RowScratch<float, L, Warp> scratch_max, scratch_sum;
  Packed* spill = simt::dynamic_shared<Packed>() + threadIdx.x;  // [S][threads], this lane's column

  const int lane = threadIdx.x % L;
  const std::int64_t row = std::int64_t{blockIdx.x} * c.rows + threadIdx.x / L;
  if (row >= rows) return;  // a whole tile of lanes: nobody waits for it
  const T* in = x + row * pitch_x;
  // Units start at the 16-byte boundary at or before the row; the first and the last may be partly the row's.
  const int lead = static_cast<int>(reinterpret_cast<std::uintptr_t>(in) % unit_bytes / sizeof(T));
  in -= lead;
  T* out = y + row * pitch_y - lead;
  const int end = lead + static_cast<int>(cols);  // elements [lead, end) of the units are the row's
  const auto whole = [&](int at) { return at >= lead && at + V <= end; };

  // ---- load: every unit once; what is not the row's is -inf, which changes neither maximum nor sum
  Packed kept[K];
  const auto load = [&](int k) {
    const int at = (k * L + lane) * V;
    if (whole(at)) return pack<T>(simt::load<V>(in + at));
    Unit<T> unit;
#pragma unroll
    for (int v = 0; v < V; ++v) unit[v] = at + v >= lead && at + v < end ? in[at + v] : T(floor);
    return pack<T>(unit);
  };
#pragma unroll
  for (int k = 0; k < K; ++k) kept[k] = load(k);
#pragma unroll 4
  for (int s = 0; s < S; ++s) spill[s * c.threads] = load(K + s);

  // ---- compute: maximum, then the sum of exponentials. Between passes the units are made opaque, or the compiler
  // would carry every element converted, and its difference, and its exponential, in registers it does not have.
  float max = floor;
  const auto take_max = [&](const Packed& packed) {
    const Unit<T> unit = unpack<T>(packed);
#pragma unroll
    for (int v = 0; v < V; ++v) max = tile::greater(max, float(unit[v]));
  };
#pragma unroll
  for (int k = 0; k < K; ++k) {
    take_max(kept[k]);
    tile::make_opaque(kept[k]);
  }
#pragma unroll 4
  for (int s = 0; s < S; ++s) take_max(spill[s * c.threads]);
  max = tile::row_reduce<L, Warp>(max, [](float a, float b) { return tile::greater(a, b); }, scratch_max);
  const float base = tile::softmax_base(max);

  float sum = 0;
  const auto add_exponentials = [&](const Packed& packed) {
    const Unit<T> unit = unpack<T>(packed);
#pragma unroll
    for (int v = 0; v < V; ++v) sum += tile::exponential(float(unit[v]) - base);
  };
#pragma unroll
  for (int k = 0; k < K; ++k) {
    add_exponentials(kept[k]);
    tile::make_opaque(kept[k]);
  }
#pragma unroll 4
  for (int s = 0; s < S; ++s) add_exponentials(spill[s * c.threads]);
  sum = tile::row_reduce<L, Warp>(sum, [](float a, float b) { return a + b; }, scratch_sum);

  // ---- finish
  const float scale = 1.0f / sum, log_sum = log ? logf(sum) : 0.0f;
  const auto write = [&](const Packed& packed, int k) {
    Unit<T> unit = unpack<T>(packed);
    const int at = (k * L + lane) * V;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const float d = float(unit[v]) - base;
      unit[v] = T(log ? d - log_sum : tile::exponential(d) * scale);
    }
    if (whole(at)) {
      simt::store_streaming(out + at, unit);
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v)
        if (at + v >= lead && at + v < end) out[at + v] = unit[v];
    }
  };
#pragma unroll
  for (int k = 0; k < K; ++k) write(kept[k], k);
#pragma unroll 4
  for (int s = 0; s < S; ++s) write(spill[s * c.threads], K + s);
}

}  // namespace ridge::softmax_detail
