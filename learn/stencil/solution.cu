// ridge learn stencil
//
// A block loads its 256 elements, and the 8 of the halo, once. The other loads are of shared memory, where neighbouring
// lanes have neighbouring banks. On a device the L1 cache would have caught most of the nine loads, but each still took
// a turn of the load-store unit, and went through address and tag.
#include <cstdio>

constexpr int n = 16384, radius = 4;

// x has n + 2 * radius elements.
__global__ void box(const int* x, int* y) {
  __shared__ int s[256 + 2 * radius];
  const int t = threadIdx.x, first = blockIdx.x * 256;
  s[t] = x[first + t];
  if (t < 2 * radius) s[256 + t] = x[first + 256 + t];
  __syncthreads();
  int sum = 0;
  for (int j = 0; j <= 2 * radius; ++j) sum += s[t + j];
  y[first + t] = sum;
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
