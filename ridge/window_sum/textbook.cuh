// The first steps: w reads per output, from memory or from a tile in shared memory. Any strides.
#pragma once
#include <ridge/core/rows.hpp>
#include <ridge/simt/simt.hpp>
#include <ridge/window_sum/variants.hpp>

namespace ridge::window_sum_detail {

// The type of sums: unsigned for integers, so that they wrap.
template <class T> struct SumType { using type = float; };
template <> struct SumType<std::int32_t> { using type = std::uint32_t; };
template <class T> using Sum = typename SumType<T>::type;

struct RowsShape {
  std::int64_t n, reach, tiles;  // tiles: per row
  RowOffsets rows_x, rows_y;
  std::int64_t step_x, step_y;
};

// y[row, i] = sum of x[row, i - reach .. i + reach]     x, y: [rows, n], any strides
// Precondition: gridDim.x == rows * tiles.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) window_naive(const T* x, T* y, RowsShape s) {
  const std::int64_t row = blockIdx.x / s.tiles,
                     i = (blockIdx.x - row * s.tiles) * Policy::config.threads + threadIdx.x;
  if (i >= s.n) return;
  x += s.rows_x(row);
  const std::int64_t first = i > s.reach ? i - s.reach : 0, last = i + s.reach < s.n ? i + s.reach : s.n - 1;
  Sum<T> sum = 0;
  for (std::int64_t j = first; j <= last; ++j) sum += Sum<T>(x[j * s.step_x]);
  y[s.rows_y(row) + i * s.step_y] = T(sum);
}

// The same by tiles.                                    shared memory: [tile + 2 reach], tile and halo
// Preconditions: gridDim.x == rows * tiles; shared_words() of dynamic shared memory.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads) window_shared(const T* x, T* y, RowsShape s) {
  constexpr int threads = Policy::config.threads, outputs = Policy::config.outputs;
  Sum<T>* in = simt::dynamic_shared<Sum<T>>();
  const std::int64_t row = blockIdx.x / s.tiles, start = (blockIdx.x - row * s.tiles) * threads * outputs;
  const int reach = static_cast<int>(s.reach);
  x += s.rows_x(row);
  y += s.rows_y(row);
  for (int k = threadIdx.x; k < threads * outputs + 2 * reach; k += threads) {
    const std::int64_t i = start - reach + k;
    in[k] = i >= 0 && i < s.n ? Sum<T>(x[i * s.step_x]) : Sum<T>(0);
  }
  __syncthreads();
#pragma unroll
  for (int o = 0; o < outputs; ++o) {
    const int at = o * threads + static_cast<int>(threadIdx.x);
    if (start + at >= s.n) return;
    Sum<T> sum = 0;
    for (int k = 0; k <= 2 * reach; ++k) sum += in[at + k];
    y[(start + at) * s.step_y] = T(sum);
  }
}

}  // namespace ridge::window_sum_detail
