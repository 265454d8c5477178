// ridge learn layer-norm
//
// A warp has a row of 512 elements. layer_norm() loads it three times: for the mean, for the variance, for the result.
// Load it once.
#include <cmath>
#include <cstdio>

constexpr int rows = 64, cols = 512;

__device__ float warp_sum(float v) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
  return v;
}

__global__ void layer_norm(const float* x, float* y) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  x += row * cols;
  y += row * cols;
  float sum = 0, squares = 0;
  for (int c = lane; c < cols; c += 32) sum += x[c];  // TODO: load each element once
  const float mean = warp_sum(sum) / cols;
  for (int c = lane; c < cols; c += 32) squares += (x[c] - mean) * (x[c] - mean);
  const float scale = rsqrtf(warp_sum(squares) / cols + 1e-5f);
  for (int c = lane; c < cols; c += 32) y[c] = (x[c] - mean) * scale;
}

int main() {
  float *x, *y;
  cudaMallocManaged(&x, rows * cols * sizeof(float));
  cudaMallocManaged(&y, rows * cols * sizeof(float));
  for (int i = 0; i < rows * cols; ++i) x[i] = i * 37 % 211 - 100 + i / cols;
  layer_norm<<<rows / 4, 128>>>(x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < rows; ++i) {
    double mean = 0, variance = 0;
    for (int j = 0; j < cols; ++j) mean += x[i * cols + j] / double(cols);
    for (int j = 0; j < cols; ++j) variance += (x[i * cols + j] - mean) * (x[i * cols + j] - mean) / cols;
    for (int j = 0; j < cols; ++j) {
      const double right = (x[i * cols + j] - mean) / std::sqrt(variance + 1e-5);
      if (!(std::fabs(y[i * cols + j] - right) <= 1e-4)) {
        std::printf("y[%d][%d] is %g, and should be %g\n", i, j, y[i * cols + j], right);
        return 1;
      }
    }
  }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
