// The textbook's sums of ridge/reduce by themselves: ridge lab docs/learn/kernels/reduce.cu --trace
#include <ridge/reduce/launch.cuh>
#include <ridge/reduce/slices.cuh>
#include <ridge/reduce/textbook.cuh>

#include "row.hpp"

using namespace ridge::reduce_detail;

int main() {
  constexpr int n = 65536, threads = 256, blocks = n / threads;
  const Memory<float> x(n), partials(blocks), y(1);
  const Input<float> in{x.data, nullptr, 1, n, {}};
  reduce_atomic<AtomicSum><<<blocks, threads>>>(x.data, y.data, n);
  reduce_in_shared<Sum<float>, Serial, threads><<<blocks, threads>>>(x.data, partials.data, n);
  reduce_in_shared<Sum<float>, Interleaved, threads><<<blocks, threads>>>(x.data, partials.data, n);
  reduce_in_shared<Sum<float>, Strided, threads><<<blocks, threads>>>(x.data, partials.data, n);
  reduce_in_shared<Sum<float>, Sequential, threads><<<blocks, threads>>>(x.data, partials.data, n);
  reduce_shuffle<Sum<float>, threads, 32><<<blocks, threads>>>(x.data, partials.data, n);
  reduce_block_atomic<AtomicSum, threads, 32><<<blocks, threads>>>(x.data, y.data, n);
  reduce_slices<ShapeOf<Row<variants, "vec4">>, Sum<float>, 32>
      <<<dim3(1, blocks / 4), threads>>>(in, y.data, partials.data, blocks / 4, 1, Finish{});
  cudaDeviceSynchronize();
}
