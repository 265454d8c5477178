// ridge learn convolution
//
// Each pixel is loaded by one or two blocks, where it was loaded by 25 threads. All lanes read the same weight at the
// same time: that is what constant memory is for, whose cache gives one word to all lanes of a warp in a clock. (The
// lab has no constant memory of its own, and counts each of those reads as one sector.)
#include <cstdio>

constexpr int size = 96, width = 5, padded = size + width - 1;

__constant__ float filter[width * width];

// x has padded rows and columns, y has size.
__global__ void convolve(const float* x, float* y) {
  constexpr int side = 16 + width - 1;
  __shared__ float tile[side][side];
  for (int p = threadIdx.y * 16 + threadIdx.x; p < side * side; p += 256)
    tile[p / side][p % side] = x[(blockIdx.y * 16 + p / side) * padded + blockIdx.x * 16 + p % side];
  __syncthreads();
  float sum = 0;
  for (int r = 0; r < width; ++r)
    for (int c = 0; c < width; ++c) sum += filter[r * width + c] * tile[threadIdx.y + r][threadIdx.x + c];
  y[(blockIdx.y * 16 + threadIdx.y) * size + blockIdx.x * 16 + threadIdx.x] = sum;
}

int main() {
  float *x, *y;
  cudaMallocManaged(&x, padded * padded * sizeof(float));
  cudaMallocManaged(&y, size * size * sizeof(float));
  float weights[width * width];
  for (int i = 0; i < width * width; ++i) weights[i] = i % 7 - 3;
  for (int i = 0; i < padded * padded; ++i) x[i] = i * 13 % 256;
  cudaMemcpyToSymbol(filter, weights, sizeof(filter));
  convolve<<<dim3(size / 16, size / 16), dim3(16, 16)>>>(x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) {
      float right = 0;
      for (int r = 0; r < width; ++r)
        for (int c = 0; c < width; ++c) right += weights[r * width + c] * x[(i + r) * padded + j + c];
      if (y[i * size + j] != right) {
        std::printf("y[%d][%d] is %g, and should be %g\n", i, j, y[i * size + j], right);
        return 1;
      }
    }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
