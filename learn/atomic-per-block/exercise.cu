// ridge learn atomic-per-block
//
// Each thread of total() adds its element to one sum. Let a block add up its own first, and do one atomic.
#include <cstdio>

constexpr int n = 16384;

__global__ void total(const int* x, int* sum) {
  atomicAdd(sum, x[blockIdx.x * 256 + threadIdx.x]);  // TODO
}

int main() {
  int *x, *sum;
  cudaMallocManaged(&x, n * sizeof(int));
  cudaMallocManaged(&sum, sizeof(int));
  *sum = 0;
  int right = 0;
  for (int i = 0; i < n; ++i) right += x[i] = i % 1000;
  total<<<n / 256, 256>>>(x, sum);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  if (*sum != right) {
    std::printf("the sum is %d, and should be %d\n", *sum, right);
    return 1;
  }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(sum);
}
