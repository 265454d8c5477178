// ridge learn grid-stride-loop
//
// square() is launched with 32 blocks, whatever n is. Make it do all n elements, and leave the launch as it is.
#include <cstdio>

constexpr int n = 50000;

__global__ void square(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i];  // TODO: the elements beyond the grid
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
