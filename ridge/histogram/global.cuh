// The first variant: every sample is an atomic addition in global memory.
#pragma once
#include <ridge/histogram/bins.cuh>
#include <ridge/histogram/counters.cuh>

namespace ridge::histogram_detail {

// counts[bin(x[i])] += 1                            x: [n] contiguous  counts: [bins]
// Precondition: counts are cleared.
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    histogram_global(const T* x, std::int64_t n, Keys<T> keys, Counts counts) {
  const std::int64_t step = std::int64_t{gridDim.x} * Policy::config.threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * Policy::config.threads + threadIdx.x; i < n; i += step) {
    const int bin = keys.bin(find_key(keys, x[i]));
    if (bin >= 0) counts.add(bin, 1);
  }
}

}  // namespace ridge::histogram_detail
