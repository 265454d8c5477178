// ridge learn matrix-vector
//
// The lanes of a warp load 32 elements of a row together, 4 sectors for each load, and all of each sector is used.
// There are 32 times as many threads, too: a matrix of few rows could not fill the device with a thread for each. Five
// shuffles for each row are little beside its loads.
#include <cstdio>

constexpr int rows = 256, cols = 256;

__global__ void multiply(const float* a, const float* x, float* y) {
  const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0;
  for (int c = lane; c < cols; c += 32) sum += a[row * cols + c] * x[c];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
  if (lane == 0) y[row] = sum;
}

int main() {
  float *a, *x, *y;
  cudaMallocManaged(&a, rows * cols * sizeof(float));
  cudaMallocManaged(&x, cols * sizeof(float));
  cudaMallocManaged(&y, rows * sizeof(float));
  for (int i = 0; i < rows * cols; ++i) a[i] = i * 7 % 11 - 5;
  for (int i = 0; i < cols; ++i) x[i] = i % 5 - 2;
  multiply<<<rows / 8, 256>>>(a, x, y);
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
