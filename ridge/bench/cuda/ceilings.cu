// Kernels that do one thing each, at the device's full rate.
#include <ridge/bench/ceilings.hpp>
#include <ridge/core/gpu.hpp>
#include <ridge/simt/simt.hpp>

namespace ridge::bench {

namespace {

constexpr int threads = 256, blocks_per_sm = 8;
constexpr int chains = 8;       // independent chains, as many as the pipeline is deep
constexpr int steps = 1 << 14;  // of each chain
constexpr int tensor_steps = 1 << 13;

// The least work of a kernel in the model: one trip to memory, and a result.
__global__ void __launch_bounds__(threads) ceiling_touch(float* x) { x[threadIdx.x] = x[threadIdx.x] + 1; }

// Each thread has four 16-byte loads in flight; the sum is stored only if it has a value that no input gives.
__global__ void __launch_bounds__(threads) ceiling_read(const float* x, std::int64_t units, float* never) {
  constexpr int in_flight = 4;
  const std::int64_t step = std::int64_t{gridDim.x} * threads;
  float sum = 0;
  for (std::int64_t u = std::int64_t{blockIdx.x} * threads + threadIdx.x; u < units; u += in_flight * step) {
    simt::vec<float, 4> v[in_flight];
#pragma unroll
    for (int i = 0; i < in_flight; ++i)
      if (u + i * step < units) v[i] = simt::load<4>(x + (u + i * step) * 4);
      else v[i] = {};
#pragma unroll
    for (int i = 0; i < in_flight; ++i) sum += v[i][0] + v[i][1] + v[i][2] + v[i][3];
  }
  if (sum == -1.0f) *never = sum;
}

template <class T> __global__ void __launch_bounds__(threads) ceiling_fma(T* never, T scale) {
  T x[chains];
#pragma unroll
  for (int i = 0; i < chains; ++i) x[i] = static_cast<T>(threadIdx.x + i);
#pragma unroll 16
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int i = 0; i < chains; ++i) x[i] = x[i] * scale + scale;
  }
  T sum = 0;
#pragma unroll
  for (int i = 0; i < chains; ++i) sum += x[i];
  if (sum == static_cast<T>(-1)) *never = sum;
}

// D = A B + D, 16 x 8 x 16 in fp16 with float accumulation, in four independent chains.
__global__ void __launch_bounds__(threads) ceiling_mma(float* never) {
  constexpr int accumulators = 4;
  const unsigned a = threadIdx.x, b = threadIdx.x * 3;
  float d[accumulators][4] = {};
#pragma unroll 8
  for (int s = 0; s < tensor_steps; ++s) {
#pragma unroll
    for (int i = 0; i < accumulators; ++i)
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
          : "+f"(d[i][0]), "+f"(d[i][1]), "+f"(d[i][2]), "+f"(d[i][3])
          : "r"(a), "r"(b));
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < accumulators; ++i) sum += d[i][0] + d[i][1] + d[i][2] + d[i][3];
  if (sum == -1.0f) *never = sum;
}

}  // namespace

double operations_of(Ceiling kind, const DeviceInfo& device) {
  const double all_threads = static_cast<double>(device.sms) * blocks_per_sm * threads;
  switch (kind) {
    case Ceiling::fp32:
    case Ceiling::fp64: return 2.0 * chains * steps * all_threads;
    case Ceiling::fp16_tensor: return 2.0 * 16 * 8 * 16 * 4 * tensor_steps * all_threads / 32;
    default: return 0;
  }
}

Status launch_ceiling(Ceiling kind, const DeviceInfo& device, void* data, std::size_t bytes, Stream stream) {
  gpu::Guard current(device.id);
  simt::Config at{
      .grid = dim3(static_cast<unsigned>(device.sms * blocks_per_sm)), .block = dim3(threads), .stream = stream.handle};
  auto* x = static_cast<float*>(data);
  switch (kind) {
    case Ceiling::touch: at.grid = dim3(1); return simt::launch(at, ceiling_touch, x);
    case Ceiling::read: return simt::launch(at, ceiling_read, x, static_cast<std::int64_t>(bytes / 16), x);
    case Ceiling::fp32: return simt::launch(at, ceiling_fma<float>, x, 0.999f);
    case Ceiling::fp64: return simt::launch(at, ceiling_fma<double>, static_cast<double*>(data), 0.999);
    case Ceiling::fp16_tensor: return simt::launch(at, ceiling_mma, x);
  }
  return {};
}

}  // namespace ridge::bench
