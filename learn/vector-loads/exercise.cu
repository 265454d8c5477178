// ridge learn vector-loads
//
// Let each thread of scale() have four elements in a row, loaded and stored as one float4. n is a multiple of 4.
#include <cstdio>

constexpr int n = 65536;

__global__ void scale(float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = a * x[i];  // TODO: four elements, as a float4
}

int main() {
  float *x, *y;
  cudaMallocManaged(&x, n * sizeof(float));
  cudaMallocManaged(&y, n * sizeof(float));
  for (int i = 0; i < n; ++i) x[i] = 1 + i % 1000;
  scale<<<n / 256, 256>>>(3.0f, x, y);  // TODO
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < n; ++i)
    if (y[i] != 3 * x[i]) {
      std::printf("y[%d] is %g, and should be %g\n", i, y[i], 3 * x[i]);
      return 1;
    }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
