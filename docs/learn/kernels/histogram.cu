// The kernels of ridge/histogram for bytes, by themselves: ridge lab docs/learn/kernels/histogram.cu --trace
#include <ridge/histogram/global.cuh>
#include <ridge/histogram/shared.cuh>

#include <vector>

#include "row.hpp"

using namespace ridge::histogram_detail;

int main() {
  constexpr int n = 65536;
  std::vector<std::uint8_t> samples(n);
  unsigned random = 1;
  for (auto& sample : samples) sample = (random = random * 1664525u + 1013904223u) >> 24;
  const Memory<std::uint8_t> x(n);
  const Memory<unsigned long long> counted(256);
  cudaMemcpy(x.data, samples.data(), n, cudaMemcpyHostToDevice);
  const std::uint8_t* from = x.data;
  Keys<std::uint8_t> keys{};
  keys.bins.first = 0, keys.bins.last = 255, keys.bins.scale = 1, keys.bins.offset = 0.5f, keys.bins.margin = 0.25f;
  keys.bins.step = keys.bins.per_unit = 1, keys.bins.count = 256;  // a bin for each value
  const Counts counts{counted.data, 1, true};
  histogram_global<Row<variants, "global_atomic">><<<n / 256, 256>>>(from, n, keys, counts);
  histogram_shared<Row<variants, "shared_private">><<<16, 256, 1024>>>(from, n, 0, keys, counts);
  histogram_shared<Row<variants, "vec4">><<<4, 256, 1024>>>(from, n, 0, keys, counts);
  histogram_shared<Row<variants, "private_512x2">><<<4, 512, 1024>>>(from, n, 0, keys, counts);
  histogram_shared<Row<variants, "best">><<<2, 512, 32 * 1024>>>(from, n, 0, keys, counts);
  cudaDeviceSynchronize();
}
