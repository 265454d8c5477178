// Any strides: computes every sample's offset from its index.
#pragma once
#include <ridge/histogram/bins.cuh>
#include <ridge/histogram/counters.cuh>

namespace ridge::histogram_detail {

struct StridedShape {
  int rank;
  std::int64_t shape[max_rank], stride[max_rank];  // in elements; strides may be negative or 0

  __device__ __forceinline__ std::int64_t offset(std::int64_t i) const {
    std::int64_t at = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const std::int64_t outer = i / shape[axis];
      at += (i - outer * shape[axis]) * stride[axis];
      i = outer;
    }
    return at;
  }
};

// counts[bin(x[i...])] += 1                         x: [shape] with its strides, n samples  counts: [bins]
// Preconditions: those of histogram_shared, or of histogram_global without a table.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.resident)
    histogram_strided(const T* x, std::int64_t n, StridedShape shape, Keys<T> keys, Counts counts) {
  constexpr Config c = Policy::config;
  const std::int64_t first = std::int64_t{blockIdx.x} * c.threads + threadIdx.x,
                     step = std::int64_t{gridDim.x} * c.threads;
  if constexpr (c.table == Table::shared) {
    const SharedTable<Policy> table(simt::dynamic_shared<unsigned>(), keys.rows());
    table.clear();
    if (gridDim.x == 1) counts.clear_all(keys.bins.count);
    __syncthreads();
    for (std::int64_t i = first; i < n; i += step) table.add(find_key(keys, x[shape.offset(i)]), 1, keys, counts);
    __syncthreads();
    table.finish(keys, counts);
  } else {
    for (std::int64_t i = first; i < n; i += step) {
      const int bin = keys.bin(find_key(keys, x[shape.offset(i)]));
      if (bin >= 0) counts.add(bin, 1);
    }
  }
}

}  // namespace ridge::histogram_detail
