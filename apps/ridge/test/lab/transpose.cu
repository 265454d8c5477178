// A transposition that stores a column for each warp, and one through shared memory whose columns lie in one bank.
#include <cstdio>

constexpr int size = 512, tile = 32;

__global__ void naive(const float* x, float* y) {
  const int col = blockIdx.x * tile + threadIdx.x, row = blockIdx.y * tile + threadIdx.y;
  y[col * size + row] = x[row * size + col];
}

__global__ void tiled(const float* x, float* y) {
  __shared__ float s[tile][tile];
  s[threadIdx.y][threadIdx.x] = x[(blockIdx.y * tile + threadIdx.y) * size + blockIdx.x * tile + threadIdx.x];
  __syncthreads();
  y[(blockIdx.x * tile + threadIdx.y) * size + blockIdx.y * tile + threadIdx.x] = s[threadIdx.x][threadIdx.y];
}

int main() {
  float *x, *y;
  cudaMalloc(&x, size * size * sizeof(float));
  cudaMalloc(&y, size * size * sizeof(float));
  cudaMemset(x, 0, size * size * sizeof(float));
  const dim3 grid(size / tile, size / tile), block(tile, tile);
  naive<<<grid, block>>>(x, y);
  tiled<<<grid, block>>>(x, y);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(x);
  cudaFree(y);
}
