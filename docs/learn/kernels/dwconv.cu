// The sums of ridge/dwconv by multiply-adds, by themselves: ridge lab docs/learn/kernels/dwconv.cu --trace
#include <ridge/dwconv/element.cuh>
#include <ridge/dwconv/tiled.cuh>

#include "row.hpp"

using namespace ridge::dwconv_detail;

constexpr int batch = 8, time_steps = 512;

int main() {
  const Memory<float> k(batch * time_steps), w(time_steps), y(batch * time_steps);
  ridge::dwconv_detail::Sum<float> sum{};
  sum.p = {k.data, time_steps, time_steps, 1, time_steps};
  sum.q = {w.data, 0, time_steps, 1, time_steps};
  sum.y = {y.data, time_steps, time_steps, 1, time_steps};
  sum.shift = time_steps - 1, sum.batch = batch, sum.channels = 1;
  dwconv_element<Row<variants, "naive">, float, false><<<batch * time_steps / 256, 256>>>(sum);
  dwconv_tiled<Row<variants, "shared">, float, false><<<16, 256, 1536>>>(sum);
  dwconv_tiled<Row<variants, "float4">, float, false><<<16, 64, 1536>>>(sum);
  dwconv_tiled<Row<variants, "batched">, float, false><<<4, 64, 2304>>>(sum);
  dwconv_tiled<Row<variants, "balanced">, float, false><<<1, 64, 3328>>>(sum);
  cudaDeviceSynchronize();
}
