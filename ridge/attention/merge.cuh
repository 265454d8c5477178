// Brings together what blocks found for parts of the keys: weighted sums of V, each divided by its own weights' sum, and the
// logarithms of those sums.
#pragma once
#include <ridge/attention/arguments.cuh>

namespace ridge::attention_kernels {

inline constexpr int merge_threads = 128;

// A block for each query of each head; parts are added in their order, so that the result repeats.
//   partial_o [splits][batch, heads, sq][dv]   partial_lse [splits][batch, heads, sq]
// Precondition: gridDim.x is batch * heads * sq.
template <class T> __global__ void __launch_bounds__(merge_threads) attention_merge(Arguments<T> a) {
  const Place at(a.sq, a.heads);
  const std::int64_t rows = std::int64_t{a.batch} * a.heads * a.sq;
  const std::int64_t row = (std::int64_t{at.batch} * a.heads + at.head) * a.sq + at.tile;
  float top = minus_infinity;
  for (int part = 0; part < a.splits; ++part) top = fmaxf(top, a.partial_lse[part * rows + row]);
  const float base = top == minus_infinity ? 0 : top;
  float sum = 0;
  for (int part = 0; part < a.splits; ++part) sum += expf(a.partial_lse[part * rows + row] - base);
  const float inverse = sum == 0 ? 0 : 1 / sum;
  T* o = a.o + at.batch * a.at_o.batch + at.head * a.at_o.head + at.tile * a.at_o.row;
  for (int column = simt::thread_rank(); column < a.dv; column += merge_threads) {
    float value = 0;
    for (int part = 0; part < a.splits; ++part) {
      const float weight = expf(a.partial_lse[part * rows + row] - base) * inverse;
      // A part without keys has weight 0, and its O is 0 too.
      value += weight * a.partial_o[(part * rows + row) * a.dv + column];
    }
    o[column * a.at_o.element] = T(value);
  }
  if (simt::thread_rank() == 0) put_lse(a, at.batch, at.head, at.tile, sum == 0 ? minus_infinity : base + logf(sum));
}

}  // namespace ridge::attention_kernels
