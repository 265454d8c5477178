// ridge learn shared-out-of-bounds
//
// A block needs the elements of its threads and those that its last threads look ahead to: 256 + 2. On a device the
// words behind a shared array are other shared arrays, or nothing; there may be no message at all, only wrong sums.
#include <cstdio>

constexpr int n = 8192, threads = 256, ahead = 2;

__global__ void sum_of_three(const int* x, int* y) {
  __shared__ int s[threads + ahead];
  const int t = threadIdx.x, i = blockIdx.x * threads + t;
  s[t] = x[i];
  if (t < ahead) s[threads + t] = x[i + threads];
  __syncthreads();
  y[i] = s[t] + s[t + 1] + s[t + 2];
}

int main() {
  int *x, *y;
  cudaMallocManaged(&x, (n + ahead) * sizeof(int));
  cudaMallocManaged(&y, n * sizeof(int));
  for (int i = 0; i < n + ahead; ++i) x[i] = i % 1000;
  sum_of_three<<<n / threads, threads>>>(x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < n; ++i)
    if (y[i] != x[i] + x[i + 1] + x[i + 2]) {
      std::printf("y[%d] is %d, and should be %d\n", i, y[i], x[i] + x[i + 1] + x[i + 2]);
      return 1;
    }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
