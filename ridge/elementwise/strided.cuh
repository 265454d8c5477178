// Any strides: computes every element's offsets from its index.
#pragma once
#include <ridge/elementwise/functions.cuh>
#include <ridge/elementwise/variants.hpp>

namespace ridge::elementwise_detail {

struct StridedShape {
  int rank = 0;
  std::int64_t shape[max_rank] = {}, a[max_rank] = {}, b[max_rank] = {},
               y[max_rank] = {};  // strides in elements, may be negative or 0
};

// y[i...] = F(a[i...], b[i...])                     a, b, y: [shape] with their own strides
// Precondition: gridDim.x * threads covers the shape's n elements.
template <class Policy, class F, class T>
__global__ void __launch_bounds__(Policy::config.threads)
    elementwise_strided(const T* a, const T* b, T* y, std::int64_t n, StridedShape s) {
  std::int64_t rest = std::int64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  if (rest >= n) return;
  std::int64_t at_a = 0, at_b = 0, at_y = 0;
  for (int axis = s.rank - 1; axis >= 0; --axis) {
    const std::int64_t outer = rest / s.shape[axis], i = rest - outer * s.shape[axis];
    at_a += i * s.a[axis];
    at_b += i * s.b[axis];
    at_y += i * s.y[axis];
    rest = outer;
  }
  y[at_y] = evaluate<F>(a[at_a], is_binary<F> ? b[at_b] : a[at_a]);
}

}  // namespace ridge::elementwise_detail
