// ridge learn layer-norm
//
// The row waits in 16 registers of each lane, and memory is read once and written once: no kernel can do with less. The
// 16 loads do not wait for each other, either. The variance is the mean of (v - mean)^2, computed after the mean: from
// the sums of v and v^2 it would lose all its digits where the mean is large.
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
  constexpr int each = cols / 32;
  float v[each];
  for (int k = 0; k < each; ++k) v[k] = x[k * 32 + lane];
  for (int k = 0; k < each; ++k) sum += v[k];
  const float mean = warp_sum(sum) / cols;
  for (int k = 0; k < each; ++k) squares += (v[k] - mean) * (v[k] - mean);
  const float scale = rsqrtf(warp_sum(squares) / cols + 1e-5f);
  for (int k = 0; k < each; ++k) y[k * 32 + lane] = (v[k] - mean) * scale;
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
