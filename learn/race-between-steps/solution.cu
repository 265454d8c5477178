// ridge learn race-between-steps
//
// Two barriers for each step: one after all have read, one after all have written. With two arrays, one to read and one
// to write, that change places after each step, one barrier would do: the exercise double-buffer.
#include <cstdio>

constexpr int width = 128, blocks = 16, steps = 10;

__global__ void smooth(float* x) {
  __shared__ float s[width];
  const int t = threadIdx.x;
  s[t] = x[blockIdx.x * width + t];
  __syncthreads();
  for (int k = 0; k < steps; ++k) {
    float mean = s[t];
    if (t > 0 && t < width - 1) mean = 0.5f * (s[t - 1] + s[t + 1]);
    __syncthreads();
    s[t] = mean;
    __syncthreads();
  }
  x[blockIdx.x * width + t] = s[t];
}

int main() {
  float* x;
  cudaMallocManaged(&x, width * blocks * sizeof(float));
  for (int i = 0; i < width * blocks; ++i) x[i] = i % 17 * 1024;
  float right[width], before[width];
  for (int i = 0; i < width; ++i) right[i] = x[i];
  for (int k = 0; k < steps; ++k) {
    for (int i = 0; i < width; ++i) before[i] = right[i];
    for (int i = 1; i < width - 1; ++i) right[i] = 0.5f * (before[i - 1] + before[i + 1]);
  }
  smooth<<<blocks, width>>>(x);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < width; ++i)
    if (x[i] != right[i]) {
      std::printf("x[%d] is %g, and should be %g\n", i, x[i], right[i]);
      return 1;
    }
  std::printf("right\n");
  cudaFree(x);
}
