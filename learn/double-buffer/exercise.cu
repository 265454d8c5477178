// ridge learn double-buffer
//
// For each tile pair_sums() stores 128 elements to shared memory and adds up those of thread t and of its partner 127 -
// t. Somebody took away the second barrier of each step, because it was slow. Make it right with one barrier for each
// step.
#include <cstdio>

constexpr int tile = 128, tiles = 8, blocks = 16;

__global__ void pair_sums(const int* x, int* y) {
  __shared__ int s[tile];
  const int t = threadIdx.x;
  const int* mine = x + blockIdx.x * tiles * tile;
  int sum = 0;
  for (int k = 0; k < tiles; ++k) {
    s[t] = mine[k * tile + t];
    __syncthreads();
    sum += (k + 1) * (s[t] + s[tile - 1 - t]);
  }
  y[blockIdx.x * tile + t] = sum;
}

int main() {
  int *x, *y;
  cudaMallocManaged(&x, blocks * tiles * tile * sizeof(int));
  cudaMallocManaged(&y, blocks * tile * sizeof(int));
  for (int i = 0; i < blocks * tiles * tile; ++i) x[i] = i % 1000;
  pair_sums<<<blocks, tile>>>(x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int b = 0; b < blocks; ++b)
    for (int t = 0; t < tile; ++t) {
      int right = 0;
      for (int k = 0; k < tiles; ++k) {
        const int* of = x + (b * tiles + k) * tile;
        right += (k + 1) * (of[t] + of[tile - 1 - t]);
      }
      if (y[b * tile + t] != right) {
        std::printf("y[%d] is %d, and should be %d\n", b * tile + t, y[b * tile + t], right);
        return 1;
      }
    }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
