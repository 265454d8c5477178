// ridge learn dot-product
//
// dot() is launched with one block. Let the whole device work: 132 blocks or more. Mind the last line of the kernel.
#include <cstdio>

constexpr int n = 67584;

__global__ void dot(const int* x, const int* y, int* out) {
  __shared__ int s[8];  // of each warp
  const int t = threadIdx.x;
  int v = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) v += x[i] * y[i];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t >= 32) return;
  v = t < 8 ? s[t] : 0;
  for (int d = 4; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (t == 0) *out = v;  // TODO
}

int main() {
  int *x, *y, *out;
  cudaMallocManaged(&x, n * sizeof(int));
  cudaMallocManaged(&y, n * sizeof(int));
  cudaMallocManaged(&out, sizeof(int));
  *out = 0;
  int right = 0;
  for (int i = 0; i < n; ++i) {
    x[i] = i % 17;
    y[i] = i % 23 - 11;
    right += x[i] * y[i];
  }
  dot<<<1, 256>>>(x, y, out);  // TODO
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  if (*out != right) {
    std::printf("the product is %d, and should be %d\n", *out, right);
    return 1;
  }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
  cudaFree(out);
}
