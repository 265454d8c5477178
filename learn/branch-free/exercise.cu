// ridge learn branch-free
//
// The lanes of a warp part at the branch of leaky_relu(), since each element has its own sign. Write it without a
// branch.
#include <cmath>
#include <cstdio>

constexpr int n = 16384;

__global__ void leaky_relu(const float* x, float* y, float slope) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
  if (v > 0)  // TODO
    y[i] = v;
  else y[i] = slope * v;
}

int main() {
  float *x, *y;
  cudaMallocManaged(&x, n * sizeof(float));
  cudaMallocManaged(&y, n * sizeof(float));
  for (int i = 0; i < n; ++i) x[i] = i * 37 % 101 - 50;
  leaky_relu<<<n / 256, 256>>>(x, y, 0.125f);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < n; ++i) {
    const float right = x[i] > 0 ? x[i] : 0.125f * x[i];
    if (y[i] != right) {
      std::printf("y[%d] is %g, and should be %g\n", i, y[i], right);
      return 1;
    }
  }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
