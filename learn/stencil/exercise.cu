// ridge learn stencil
//
// y[i] is the sum of nine elements, x[i] to x[i + 8]. Each thread of box() loads all nine. Let a block load each
// element once, into shared memory.
#include <cstdio>

constexpr int n = 16384, radius = 4;

// x has n + 2 * radius elements.
__global__ void box(const int* x, int* y) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  int sum = 0;
  for (int j = 0; j <= 2 * radius; ++j) sum += x[i + j];  // TODO
  y[i] = sum;
}

int main() {
  int *x, *y;
  cudaMallocManaged(&x, (n + 2 * radius) * sizeof(int));
  cudaMallocManaged(&y, n * sizeof(int));
  for (int i = 0; i < n + 2 * radius; ++i) x[i] = i % 1000;
  box<<<n / 256, 256>>>(x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < n; ++i) {
    int right = 0;
    for (int j = 0; j <= 2 * radius; ++j) right += x[i + j];
    if (y[i] != right) {
      std::printf("y[%d] is %d, and should be %d\n", i, y[i], right);
      return 1;
    }
  }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
