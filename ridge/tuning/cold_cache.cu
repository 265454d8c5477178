// The kernels of a GPU's clock: one leaves the L2 cache cold and clean, one evicts earlier code from the
// multiprocessors' caches, and one is empty.
#include <ridge/simt/simt.hpp>
#include <ridge/tuning/clock.hpp>

namespace ridge::tuning {

// Reads x: [n]. Writes y only for a value of x that the scratch memory does not hold.
__global__ void __launch_bounds__(256) read_through(const uint4* x, std::int64_t n, unsigned* y) {
  unsigned sum = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * 256 + threadIdx.x; i < n; i += std::int64_t{gridDim.x} * 256) {
    const uint4 v = x[i];
    sum |= v.x | v.y | v.z | v.w;
  }
  if (sum == 0xffffffffu) *y = sum;
}

// A warp executes 128 KB of straight-line instructions. After two such kernels an instruction cache holds nothing else.
template <int Kernel> __global__ void __launch_bounds__(32) go_through_code(float x, float y, unsigned* out) {
  constexpr int instructions = 8192;
#pragma unroll
  for (int i = 0; i < instructions; ++i) x = fmaf(x, y, static_cast<float>(Kernel));
  if (x == 0.5f) *out = 0;  // never true: x grows
}

Status flush_instruction_caches(int multiprocessors, void* word, Stream stream) {
  // Two blocks per multiprocessor, which the device distributes evenly.
  const simt::Config at{
      .grid = dim3(static_cast<unsigned>(2 * multiprocessors)), .block = dim3(32), .stream = stream.handle};
  RIDGE_TRY(simt::launch(at, go_through_code<1>, 2.0f, 2.0f, static_cast<unsigned*>(word)));
  return simt::launch(at, go_through_code<2>, 2.0f, 2.0f, static_cast<unsigned*>(word));
}

Status flush_l2(const void* scratch, std::size_t bytes, void* word, Stream stream) {
  return simt::launch({.grid = dim3(1024), .block = dim3(256), .stream = stream.handle}, read_through,
                      static_cast<const uint4*>(scratch), static_cast<std::int64_t>(bytes / sizeof(uint4)),
                      static_cast<unsigned*>(word));
}

__global__ void __launch_bounds__(32) empty() {}

Status launch_nothing(Stream stream) {
  return simt::launch({.grid = dim3(1), .block = dim3(32), .stream = stream.handle}, empty);
}

}  // namespace ridge::tuning
