// What is one instruction of a device, or a few, and much more here.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void halves(const float* x, __half* y, __nv_bfloat16* z) {
  const int i = threadIdx.x;
  const __half h = __float2half(x[i]);
  y[i] = __hmax(h * h + h, h);
  z[i] = __float2bfloat16(x[i]) + __float2bfloat16(1.0f);
}
__global__ void reduced(const float* x, float* y) {
  namespace cg = cooperative_groups;
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const float sum = cg::reduce(tile, x[tile.thread_rank()], cg::plus<float>());
  y[threadIdx.x] = sum;
}

int main() {
  float *x, *y;
  cudaMalloc(&x, 32 * sizeof(float));
  cudaMalloc(&y, 32 * sizeof(float));
  // Numbers that go every way through a conversion.
  const float values[] = {0, 1, -2, 1e-7f, 65504, 1e6f, -1e30f, 0.0f / 0.0f};
  for (int i = 0; i < 32; ++i) cudaMemcpy(x + i, values + i % 8, sizeof(float), cudaMemcpyHostToDevice);
  halves<<<1, 32>>>(x, (__half*)y, (__nv_bfloat16*)y + 32);
  reduced<<<1, 32>>>(x, y);
  cudaFree(x);
  cudaFree(y);
}
