// ridge learn coalesced-copy
//
// Each thread of copy() copies 16 elements in a row. Give each thread 16 other elements, so that the lanes of a warp
// have neighbours in each step.
#include <cstdio>

constexpr int n = 131072, each = 16;

__global__ void copy(const float* x, float* y) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < each; ++k) y[thread * each + k] = x[thread * each + k];  // TODO: other elements
}

int main() {
  float *x, *y;
  cudaMallocManaged(&x, n * sizeof(float));
  cudaMallocManaged(&y, n * sizeof(float));
  for (int i = 0; i < n; ++i) x[i] = i;
  copy<<<n / each / 256, 256>>>(x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < n; ++i)
    if (y[i] != x[i]) {
      std::printf("y[%d] is %g, and should be %g\n", i, y[i], x[i]);
      return 1;
    }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
