// ridge learn block-scan
//
// A warp scans its 32 elements in five shuffles, without shared memory and without a barrier. The eight sums of the
// warps take one store, one barrier and at most seven loads. All threads work in each step, where one thread took 256
// steps that had to wait for each other.
#include <cstdio>

constexpr int n = 8192;

__global__ void scan(const int* x, int* y) {
  __shared__ int s[8];  // of each warp
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  int v = x[blockIdx.x * 256 + t];
  for (int d = 1; d < 32; d *= 2) {
    const int before = __shfl_up_sync(0xffffffff, v, d);
    if (lane >= d) v += before;
  }
  if (lane == 31) s[warp] = v;
  __syncthreads();
  for (int w = 0; w < warp; ++w) v += s[w];
  y[blockIdx.x * 256 + t] = v;
}

int main() {
  int *x, *y;
  cudaMallocManaged(&x, n * sizeof(int));
  cudaMallocManaged(&y, n * sizeof(int));
  for (int i = 0; i < n; ++i) x[i] = i % 100;
  scan<<<n / 256, 256>>>(x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  int right = 0;
  for (int i = 0; i < n; ++i) {
    right = (i % 256 == 0 ? 0 : right) + x[i];
    if (y[i] != right) {
      std::printf("y[%d] is %d, and should be %d\n", i, y[i], right);
      return 1;
    }
  }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
