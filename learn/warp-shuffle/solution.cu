// ridge learn warp-shuffle
//
// A shuffle passes a register from lane to lane: no store, no load, no barrier, since the lanes of a warp take it
// together. Of eight steps with a barrier each, one is left. Every reduction in Ridge is built like this (ridge/tile).
#include <cstdio>

constexpr int n = 16384;

__global__ void sum(const int* x, int* sums) {
  __shared__ int s[8];  // of each warp
  const int t = threadIdx.x;
  int v = x[blockIdx.x * 256 + t];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t >= 32) return;
  v = t < 8 ? s[t] : 0;
  for (int d = 4; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (t == 0) sums[blockIdx.x] = v;
}

int main() {
  int *x, *sums;
  cudaMallocManaged(&x, n * sizeof(int));
  cudaMallocManaged(&sums, n / 256 * sizeof(int));
  for (int i = 0; i < n; ++i) x[i] = i % 1000;
  sum<<<n / 256, 256>>>(x, sums);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int b = 0; b < n / 256; ++b) {
    int right = 0;
    for (int i = 0; i < 256; ++i) right += x[b * 256 + i];
    if (sums[b] != right) {
      std::printf("sums[%d] is %d, and should be %d\n", b, sums[b], right);
      return 1;
    }
  }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(sums);
}
