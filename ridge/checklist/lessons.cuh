// The lessons' kernels. Each is short enough to be read beside the counts of its accesses.
#pragma once
#include <ridge/checklist/variants.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::checklist_detail {

// y = x                                                                                             x, y: [n]
// Precondition: gridDim.x * threads * step covers n.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads) checklist_copy(const float* x, float* y, std::int64_t n) {
  constexpr Config c = Policy::config;
  const std::int64_t block = std::int64_t{blockIdx.x} * c.threads;
  for (int j = 0; j < c.step; ++j) {
    std::int64_t i =
        c.way == Way::strided ? (block + threadIdx.x) * c.step + j : block * c.step + j * c.threads + threadIdx.x;
    if (i >= n) continue;
    if (c.way == Way::shifted) i = i + 1 < n ? i + 1 : 0;  // the last thread takes the first element
    y[i] = x[i];
  }
}

__device__ __forceinline__ unsigned hash_even(unsigned x) {
  for (int i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u;
  return x;
}
__device__ __forceinline__ unsigned hash_odd(unsigned x) {
  for (int i = 0; i < rounds; ++i) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
  }
  return x;
}

// y[i] = hash_even(x[i]) or hash_odd(x[i]), by i                                                    x, y: [n]
// Precondition: gridDim.x * threads covers n.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads) checklist_branch(const int* x, int* y, std::int64_t n) {
  constexpr Config c = Policy::config;
  const std::int64_t first = std::int64_t{blockIdx.x} * c.threads;
  int at = threadIdx.x;
  // The block's first half of threads, whole warps, takes its even elements.
  if constexpr (c.way == Way::apart) at = threadIdx.x < c.threads / 2 ? 2 * at : 2 * (at - c.threads / 2) + 1;
  const std::int64_t i = first + at;
  if (i >= n) return;
  const unsigned value = static_cast<unsigned>(x[i]);
  if constexpr (c.way == Way::select) {
    // A mask, as some compilers make a branch of a choice by `?:`.
    const unsigned even = hash_even(value), odd = hash_odd(value), is_odd = 0u - static_cast<unsigned>(i & 1);
    y[i] = static_cast<int>((even & ~is_odd) | (odd & is_odd));
  } else {
    if (i % 2 == 0) y[i] = static_cast<int>(hash_even(value));
    else y[i] = static_cast<int>(hash_odd(value));
  }
}

// y = a + b                                                                                      a, b, y: [n]
// Precondition: gridDim.x * threads * step covers n.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads)
    checklist_vecadd(const float* a, const float* b, float* y, std::int64_t n) {
  constexpr Config c = Policy::config;
  const std::int64_t block = std::int64_t{blockIdx.x} * c.threads * c.step;
#pragma unroll
  for (int j = 0; j < c.step; ++j) {
    const std::int64_t i = block + (c.way == Way::adjacent ? threadIdx.x * c.step + j : j * c.threads + threadIdx.x);
    if (i < n) y[i] = a[i] + b[i];
  }
}

// counts[x[i]] += 1                                                                    x: [n]  counts: [256], zero
// Precondition: gridDim.x * threads * step covers n.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads)
    checklist_histogram(const std::uint8_t* x, int* counts, std::int64_t n) {
  constexpr Config c = Policy::config;
  const std::int64_t block = std::int64_t{blockIdx.x} * c.threads * c.step;
  if constexpr (c.way == Way::plain) {
    if (block + threadIdx.x < n) atomicAdd(&counts[x[block + threadIdx.x]], 1);
  } else {
    int* own = simt::dynamic_shared<int>();
    for (int k = threadIdx.x; k < bins; k += c.threads) own[k] = 0;
    __syncthreads();
    for (int j = 0; j < c.step; ++j) {
      const std::int64_t i = block + j * c.threads + threadIdx.x;
      if (i < n) atomicAdd(&own[x[i]], 1);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < bins; k += c.threads)
      if (own[k] > 0) atomicAdd(&counts[k], own[k]);
  }
}

// counts = 0                                                                                      counts: [256]
__global__ void __launch_bounds__(bins) checklist_clear(int* counts) { counts[threadIdx.x] = 0; }

// y[i] = sum of x[i - radius .. i + radius], zeros beyond the ends                                  x, y: [n]
// Precondition: gridDim.x * threads covers n.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads)
    checklist_window(const float* x, float* y, std::int64_t n, int radius) {
  constexpr Config c = Policy::config;
  const std::int64_t first = std::int64_t{blockIdx.x} * c.threads, i = first + threadIdx.x;
  float sum = 0;
  if constexpr (c.way == Way::shared) {
    float* near = simt::dynamic_shared<float>();  // [first - radius, first + threads + radius) of x
    for (int k = threadIdx.x; k < c.threads + 2 * radius; k += c.threads) {
      const std::int64_t at = first - radius + k;
      near[k] = at >= 0 && at < n ? x[at] : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k <= 2 * radius; ++k) sum += near[threadIdx.x + k];
  } else {
    for (std::int64_t at = i - radius; at <= i + radius; ++at) sum += at >= 0 && at < n ? x[at] : 0.0f;
  }
  if (i < n) y[i] = sum;
}

// Every `threads` elements reversed, several times, through shared memory.                          x, y: [n]
// Precondition: gridDim.x * threads covers n.
template <class Policy>
__global__ void __launch_bounds__(Policy::config.threads) checklist_banks(const float* x, float* y, std::int64_t n) {
  constexpr Config c = Policy::config;
  float* shared = simt::dynamic_shared<float>();  // an element every `step` words
  const std::int64_t first = std::int64_t{blockIdx.x} * c.threads;
  const int count = first + c.threads <= n ? c.threads : static_cast<int>(n - first);
  const int own = threadIdx.x, mirrored = count - 1 - own;
  float value = own < count ? x[first + own] : 0.0f;
  for (int round = 0; round < reversals; ++round) {
    shared[own * c.step] = value;
    __syncthreads();
    if (own < count) value = shared[mirrored * c.step];
    __syncthreads();
  }
  if (own < count) y[first + own] = value;
}

}  // namespace ridge::checklist_detail
