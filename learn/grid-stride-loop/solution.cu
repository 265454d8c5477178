// ridge learn grid-stride-loop
//
// In each step the whole grid takes the next 8192 elements, so neighbouring threads still access neighbouring elements.
// The launch may be as large as the device and not as large as the data: blocks are started once, and what a thread
// computes before its loop is computed once.
#include <cstdio>

constexpr int n = 50000;

__global__ void square(const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * x[i];
}

int main() {
  float *x, *y;
  cudaMallocManaged(&x, n * sizeof(float));
  cudaMallocManaged(&y, n * sizeof(float));
  for (int i = 0; i < n; ++i) {
    x[i] = 1 + i % 100;
    y[i] = 0;
  }
  square<<<32, 256>>>(x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < n; ++i)
    if (y[i] != x[i] * x[i]) {
      std::printf("y[%d] is %g, and should be %g\n", i, y[i], x[i] * x[i]);
      return 1;
    }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
