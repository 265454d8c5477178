// ridge learn missing-barrier
//
// The barrier lets no thread read before all threads have written. Within a warp it would seem to work without it, and
// between warps it does so by luck: such a kernel may be right for years. It costs a few dozen clocks.
#include <cstdio>

constexpr int n = 8192;

__global__ void reverse(int* x) {
  __shared__ int s[256];
  const int t = threadIdx.x, first = blockIdx.x * 256;
  s[t] = x[first + t];
  __syncthreads();
  x[first + t] = s[255 - t];
}

int main() {
  int* x;
  cudaMallocManaged(&x, n * sizeof(int));
  for (int i = 0; i < n; ++i) x[i] = i;
  reverse<<<n / 256, 256>>>(x);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < n; ++i)
    if (x[i] != i / 256 * 256 + 255 - i % 256) {
      std::printf("x[%d] is %d, and should be %d\n", i, x[i], i / 256 * 256 + 255 - i % 256);
      return 1;
    }
  std::printf("right\n");
  cudaFree(x);
}
