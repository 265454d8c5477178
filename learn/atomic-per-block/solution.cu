// ridge learn atomic-per-block
//
// The L2 cache does atomics of one address one after the other, about one in a clock, whatever the number of threads.
// With one for each block there are 64 of them, not 16384, and shuffles do the rest where all warps work at the same
// time.
#include <cstdio>

constexpr int n = 16384;

__global__ void total(const int* x, int* sum) {
  __shared__ int s[8];  // of each warp
  const int t = threadIdx.x;
  int v = x[blockIdx.x * 256 + t];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t >= 32) return;
  v = t < 8 ? s[t] : 0;
  for (int d = 4; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (t == 0) atomicAdd(sum, v);
}

int main() {
  int *x, *sum;
  cudaMallocManaged(&x, n * sizeof(int));
  cudaMallocManaged(&sum, sizeof(int));
  *sum = 0;
  int right = 0;
  for (int i = 0; i < n; ++i) right += x[i] = i % 1000;
  total<<<n / 256, 256>>>(x, sum);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  if (*sum != right) {
    std::printf("the sum is %d, and should be %d\n", *sum, right);
    return 1;
  }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(sum);
}
