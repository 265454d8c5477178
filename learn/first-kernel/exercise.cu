// ridge learn first-kernel
//
// Fill the hole in line(): y[i] = 2 x[i] + 1, an element for each thread. The grid has more threads than there are
// elements.
#include <cstdio>

constexpr int n = 10000;

__global__ void line(const float* x, float* y) {
  // TODO: which element does this thread have, and is there one?
}

int main() {
  float *x, *y;
  cudaMallocManaged(&x, n * sizeof(float));
  cudaMallocManaged(&y, n * sizeof(float));
  for (int i = 0; i < n; ++i) x[i] = i % 100;
  line<<<(n + 255) / 256, 256>>>(x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < n; ++i)
    if (y[i] != 2 * x[i] + 1) {
      std::printf("y[%d] is %g, and should be %g\n", i, y[i], 2 * x[i] + 1);
      return 1;
    }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
