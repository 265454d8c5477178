// ridge learn two-dimensions
//
// A warp is 32 threads with consecutive threadIdx.x. As x chooses the column, they have 32 elements of a row beside
// each other: four sectors for each access. With x for the row each lane would ask for a sector of its own.
#include <cstdio>

constexpr int rows = 100, cols = 136;

__global__ void scale_rows(const float* x, const float* scale, float* y) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && col < cols) y[row * cols + col] = scale[row] * x[row * cols + col];
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
