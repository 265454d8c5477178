// Moments of values, relative to one of them, and combined by Chan's formula: a mean far greater than the deviations
// costs no digits. A thread adds several elements at a time, by their distances from its mean so far.
#pragma once
#include <ridge/simt/simt.hpp>

namespace ridge::tile {

// Moments of `count` values: their mean, and the sum of squares of their distances from it.
struct Moments {  // no initialisers: there are some in shared memory
  float count, mean, squares;
};
// The weights for combining moments of `a` values with those of `b` values.
struct Weights {
  float share, product;  // b / (a + b), a b / (a + b)
  __device__ __forceinline__ Weights(float a, float b) : share(a + b > 0 ? b / (a + b) : 0), product(a * share) {}
  __device__ __forceinline__ void combine(float& mean, float& squares, float other_mean, float other_squares) const {
    const float distance = other_mean - mean;
    mean = fmaf(distance, share, mean);
    squares += other_squares + distance * distance * product;
  }
};
__device__ __forceinline__ Moments merge(Moments a, const Moments& b) {
  Weights(a.count, b.count).combine(a.mean, a.squares, b.mean, b.squares);
  a.count += b.count;
  return a;
}

// Adds the first `there` of N elements to the mean and squares of `count` elements; share is 1 / (count + there). Sums
// of distances from the mean so far lose no digits by the correction, as that mean is of no fewer elements. For the
// first elements it is their own mean. Precondition: d is 0 from `there` on.
template <int N>
__device__ __forceinline__ void extend_some(float& mean, float& squares, const float (&d)[N], int there, float count,
                                            float share) {
  if (count == 0) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) sum += d[i];
    mean = sum * share;
  }
  float sum = 0, square = 0;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const float distance = i < there ? d[i] - mean : 0;
    sum += distance;
    square = fmaf(distance, distance, square);
  }
  mean = fmaf(sum, share, mean);
  squares += fmaf(-sum * share, sum, square);
}
// The same for all N elements.
template <int N>
__device__ __forceinline__ void extend(float& mean, float& squares, const float (&d)[N], float count, float share) {
  extend_some(mean, squares, d, N, count, share);
}

}  // namespace ridge::tile
