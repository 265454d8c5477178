// Loops that nvcc makes straight code of.
#include <cuda_runtime.h>

constexpr int width = 8;

__global__ void rolled(const float* x, float* y) {
  const int i = threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < width; ++k) sum += x[i + k * 32];
  y[i] = sum;
}
__global__ void unrolled(const float* x, float* y) {
  const int i = threadIdx.x;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < width; ++k) sum += x[i + k * 32];
  y[i] = sum;
}
template <int N> __global__ void of_template(const float* x, float* y) {
  const int i = threadIdx.x;
  float sum = 0;
#pragma unroll N
  for (int k = 0; k < N; ++k) sum += x[i + k * 32];
  y[i] = sum;
}
// Shared tiles of a product: two loads and a multiply-add for each k.
__global__ void tile(const float* x, float* y) {
  __shared__ float a[32][32], b[32][32];
  const int i = threadIdx.x, row = threadIdx.y;
  a[row][i] = x[row * 32 + i];
  b[row][i] = x[row * 32 + i];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int k = 0; k < 32; ++k) sum += a[row][k] * b[k][i];
  y[row * 32 + i] = sum;
}

int main() {
  float *x, *y;
  cudaMalloc(&x, 1024 * sizeof(float));
  cudaMalloc(&y, 1024 * sizeof(float));
  cudaMemset(x, 0, 1024 * sizeof(float));
  rolled<<<1, 32>>>(x, y);
  unrolled<<<1, 32>>>(x, y);
  of_template<width><<<1, 32>>>(x, y);
  tile<<<1, dim3(32, 32)>>>(x, y);
  cudaFree(x);
  cudaFree(y);
}
