// The kernel that takes any problem: a thread per output, operands from memory.
#pragma once
#include <ridge/dwconv/element.hpp>
#include <ridge/dwconv/launch.cuh>

namespace ridge::dwconv_detail {

// One thread per output.                                 y: [batch, channels, size], or [channels, size] if Summed
// Precondition: gridDim.x * threads covers y's elements.
template <class Policy, class T, bool Summed>
__global__ void __launch_bounds__(Policy::config.threads) dwconv_element(Sum<T> s) {
  const std::int64_t i = std::int64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  const std::int64_t o = i % s.y.size, c = i / s.y.size % s.channels, row = i / s.y.size / s.channels;
  if (row >= (Summed ? 1 : s.batch)) return;
  float sum = 0;
  for (std::int64_t b = Summed ? 0 : row; b < (Summed ? s.batch : row + 1); ++b)
    for (std::int64_t x = s.first(o), end = s.end(o); x < end; ++x)
      sum += float(s.p.at(b, c, x)) * float(s.q.at(b, c, x - o + s.shift));
  s.y.at(row, c, o) = T(s.eps + sum);
}

namespace element {

template <int I, class T, bool Summed> static Status launch(const Arguments& args, const Sum<T>& sum) {
  constexpr Config c = Policy<I>::config;
  const DwconvProblem& p = args.plan.problem;
  const std::int64_t outputs = sum.y.size * p.channels * (Summed ? 1 : p.batch);
  const simt::Config at = launch_config(args, c.threads, element_grid(c, outputs));
  return simt::launch(at, dwconv_element<Policy<I>, T, Summed>, sum);
}

}  // namespace element
}  // namespace ridge::dwconv_detail
