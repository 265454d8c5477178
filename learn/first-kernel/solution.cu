// ridge learn first-kernel
//
// Each thread computes its number from the number of its block and its place in it. Neighbouring threads have
// neighbouring elements, so a warp's 32 loads are 128 bytes in a row: four sectors, and no more. The comparison costs
// nothing beside that, and without it the last threads would write beyond the end.
#include <cstdio>

constexpr int n = 10000;

__global__ void line(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i] + 1;
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
