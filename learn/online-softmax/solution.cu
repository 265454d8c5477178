// ridge learn online-softmax
//
// Each element is loaded twice instead of three times, and memory is all that this kernel waits for. The price is an
// exponential more for each element. The same correction joins the lanes of a warp, blocks, or the tiles of attention,
// which rests on it.
#include <cmath>
#include <cstdio>

constexpr int rows = 64, cols = 512;

__global__ void softmax(const float* x, float* y) {
  const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  x += row * cols;
  y += row * cols;
  float m = -1e30f, s = 0;
  for (int c = lane; c < cols; c += 32) {
    const float v = x[c], larger = fmaxf(m, v);
    s = s * expf(m - larger) + expf(v - larger);
    m = larger;
  }
  for (int d = 16; d > 0; d /= 2) {
    const float other_m = __shfl_xor_sync(0xffffffff, m, d), other_s = __shfl_xor_sync(0xffffffff, s, d);
    const float larger = fmaxf(m, other_m);
    s = s * expf(m - larger) + other_s * expf(other_m - larger);
    m = larger;
  }
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
