// ridge learn coalesced-copy
//
// What counts is what the 32 lanes of a warp access together, in one instruction. In steps of the whole grid they have
// 32 floats in a row: 4 sectors of 32 bytes, each of which is used as a whole. A thread that walks along its own row is
// good for a CPU's cache and bad here: each lane asks for a sector of its own, eight times as many in all.
#include <cstdio>

constexpr int n = 131072, each = 16;

__global__ void copy(const float* x, float* y) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int threads = gridDim.x * blockDim.x;
  for (int k = 0; k < each; ++k) y[k * threads + thread] = x[k * threads + thread];
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
