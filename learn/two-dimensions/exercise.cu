// ridge learn two-dimensions
//
// Fill the hole in scale_rows(): y[row][col] = scale[row] * x[row][col], an element for each thread of a two-
// dimensional grid.
#include <cstdio>

constexpr int rows = 100, cols = 136;

__global__ void scale_rows(const float* x, const float* scale, float* y) {
  // TODO: which row and column does this thread have, and are they within the matrix?
}

int main() {
  float *x, *scale, *y;
  cudaMallocManaged(&x, rows * cols * sizeof(float));
  cudaMallocManaged(&scale, rows * sizeof(float));
  cudaMallocManaged(&y, rows * cols * sizeof(float));
  for (int i = 0; i < rows * cols; ++i) {
    x[i] = 1 + i % 7;
    y[i] = 0;
  }
  for (int i = 0; i < rows; ++i) scale[i] = 1 + i;
  const dim3 block(32, 8), grid((cols + 31) / 32, (rows + 7) / 8);
  scale_rows<<<grid, block>>>(x, scale, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < cols; ++j)
      if (y[i * cols + j] != scale[i] * x[i * cols + j]) {
        std::printf("y[%d][%d] is %g, and should be %g\n", i, j, y[i * cols + j], scale[i] * x[i * cols + j]);
        return 1;
      }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(scale);
  cudaFree(y);
}
