// ridge learn branch-free
//
// A warp has one program counter for lanes that go together: at a branch that divides them it goes one way with some of
// its lanes, then the other way with the rest. Here it stored twice, each time for half of its lanes. fmaxf and fminf
// are one instruction each. What depends on the warp as a whole (threadIdx.x / 32, blockIdx) divides nothing, and may
// branch.
#include <cmath>
#include <cstdio>

constexpr int n = 16384;

__global__ void leaky_relu(const float* x, float* y, float slope) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  const float v = x[i];
  y[i] = fmaxf(v, 0.0f) + slope * fminf(v, 0.0f);
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
