// ridge learn fewer-launches
//
// main() launches normalise() once for each row of a matrix. Launch it once for all of them.
#include <cstdio>

constexpr int rows = 64, cols = 128;

// Divides the elements of a row by its first one.
__global__ void normalise(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] / x[0]; }

int main() {
  float *x, *y;
  cudaMallocManaged(&x, rows * cols * sizeof(float));
  cudaMallocManaged(&y, rows * cols * sizeof(float));
  for (int i = 0; i < rows * cols; ++i) x[i] = 1 + i % 97;
  for (int r = 0; r < rows; ++r) normalise<<<1, cols>>>(x + r * cols, y + r * cols);  // TODO
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
