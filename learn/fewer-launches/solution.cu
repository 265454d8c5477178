// ridge learn fewer-launches
//
// One launch pays its microseconds once, and 64 blocks run side by side on 64 multiprocessors, where one after the
// other had a device to itself. Where launches cannot be joined, a CUDA graph makes each of them cheaper.
#include <cstdio>

constexpr int rows = 64, cols = 128;

// Divides the elements of a row by its first one.
__global__ void normalise(const float* x, float* y) {
  x += blockIdx.x * cols;
  y += blockIdx.x * cols;
  y[threadIdx.x] = x[threadIdx.x] / x[0];
}

int main() {
  float *x, *y;
  cudaMallocManaged(&x, rows * cols * sizeof(float));
  cudaMallocManaged(&y, rows * cols * sizeof(float));
  for (int i = 0; i < rows * cols; ++i) x[i] = 1 + i % 97;
  normalise<<<rows, cols>>>(x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < rows * cols; ++i)
    if (y[i] != x[i] / x[i / cols * cols]) {
      std::printf("y[%d] is %g, and should be %g\n", i, y[i], x[i] / x[i / cols * cols]);
      return 1;
    }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
