// ridge learn matrix-vector
//
// Each thread of multiply() has a row of the matrix. Let each warp have one.
#include <cstdio>

constexpr int rows = 256, cols = 256;

__global__ void multiply(const float* a, const float* x, float* y) {
  const int row = blockIdx.x * 256 + threadIdx.x;  // TODO: a row for each warp
  float sum = 0;
  for (int c = 0; c < cols; ++c) sum += a[row * cols + c] * x[c];
  y[row] = sum;
}

int main() {
  float *a, *x, *y;
  cudaMallocManaged(&a, rows * cols * sizeof(float));
  cudaMallocManaged(&x, cols * sizeof(float));
  cudaMallocManaged(&y, rows * sizeof(float));
  for (int i = 0; i < rows * cols; ++i) a[i] = i * 7 % 11 - 5;
  for (int i = 0; i < cols; ++i) x[i] = i % 5 - 2;
  multiply<<<rows / 256, 256>>>(a, x, y);  // TODO
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < rows; ++i) {
    float right = 0;
    for (int j = 0; j < cols; ++j) right += a[i * cols + j] * x[j];
    if (y[i] != right) {
      std::printf("y[%d] is %g, and should be %g\n", i, y[i], right);
      return 1;
    }
  }
  std::printf("right\n");
  cudaFree(a);
  cudaFree(x);
  cudaFree(y);
}
