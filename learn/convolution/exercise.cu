// ridge learn convolution
//
// Each thread of convolve() loads 25 pixels and 25 weights from global memory. Let a block keep its pixels in shared
// memory, and put the filter into constant memory.
#include <cstdio>

constexpr int size = 96, width = 5, padded = size + width - 1;

// x has padded rows and columns, y has size.
__global__ void convolve(const float* x, const float* filter, float* y) {
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int r = 0; r < width; ++r)
    for (int c = 0; c < width; ++c) sum += filter[r * width + c] * x[(row + r) * padded + col + c];  // TODO
  y[row * size + col] = sum;
}

int main() {
  float *x, *filter, *y;
  cudaMallocManaged(&filter, width * width * sizeof(float));
  cudaMallocManaged(&x, padded * padded * sizeof(float));
  cudaMallocManaged(&y, size * size * sizeof(float));
  float weights[width * width];
  for (int i = 0; i < width * width; ++i) weights[i] = i % 7 - 3;
  for (int i = 0; i < padded * padded; ++i) x[i] = i * 13 % 256;
  for (int i = 0; i < width * width; ++i) filter[i] = weights[i];
  convolve<<<dim3(size / 16, size / 16), dim3(16, 16)>>>(x, filter, y);
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
  cudaFree(filter);
}
