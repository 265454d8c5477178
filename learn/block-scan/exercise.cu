// ridge learn block-scan
//
// scan() computes in each block of 256 elements the sum of all elements up to each one. One thread does it all. Let all
// threads work.
#include <cstdio>

constexpr int n = 8192;

__global__ void scan(const int* x, int* y) {
  __shared__ int s[256];
  const int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  if (t == 0)  // TODO
    for (int i = 1; i < 256; ++i) s[i] += s[i - 1];
  __syncthreads();
  y[blockIdx.x * 256 + t] = s[t];
}

int main() {
  int *x, *y;
  cudaMallocManaged(&x, n * sizeof(int));
  cudaMallocManaged(&y, n * sizeof(int));
  for (int i = 0; i < n; ++i) x[i] = i % 100;
  scan<<<n / 256, 256>>>(x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  int right = 0;
  for (int i = 0; i < n; ++i) {
    right = (i % 256 == 0 ? 0 : right) + x[i];
    if (y[i] != right) {
      std::printf("y[%d] is %d, and should be %d\n", i, y[i], right);
      return 1;
    }
  }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
