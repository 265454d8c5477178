// ridge learn online-softmax
//
// A warp has a row. softmax() goes over it three times: for the maximum, for the sum, for the result. Do the first two
// in one pass.
#include <cmath>
#include <cstdio>

constexpr int rows = 64, cols = 512;

__global__ void softmax(const float* x, float* y) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  x += row * cols;
  y += row * cols;
  float m = -1e30f, s = 0;
  for (int c = lane; c < cols; c += 32) m = fmaxf(m, x[c]);  // TODO: maximum and sum in one pass
  for (int d = 16; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, d));
  for (int c = lane; c < cols; c += 32) s += expf(x[c] - m);
  for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);
  for (int c = lane; c < cols; c += 32) y[c] = expf(x[c] - m) / s;
}

int main() {
  float *x, *y;
  cudaMallocManaged(&x, rows * cols * sizeof(float));
  cudaMallocManaged(&y, rows * cols * sizeof(float));
  for (int i = 0; i < rows * cols; ++i) x[i] = 0.1f * (i * 37 % 211) + i / cols;
  softmax<<<rows / 4, 128>>>(x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < rows; ++i) {
    double m = x[i * cols], s = 0;
    for (int j = 0; j < cols; ++j) m = std::fmax(m, x[i * cols + j]);
    for (int j = 0; j < cols; ++j) s += std::exp(x[i * cols + j] - m);
    for (int j = 0; j < cols; ++j) {
      const double right = std::exp(x[i * cols + j] - m) / s;
      if (!(std::fabs(y[i * cols + j] - right) <= 1e-5 * right)) {
        std::printf("y[%d][%d] is %g, and should be %g\n", i, j, y[i * cols + j], right);
        return 1;
      }
    }
  }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
