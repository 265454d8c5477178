// ridge learn transpose
//
// The lanes of a warp load a row of the tile, and later store a row of the result: both in 4 sectors. The strided
// access is that of shared memory, which has no sectors. All threads must have stored their part of the tile before
// another reads it, hence the barrier. (The tile's columns still lie in one bank each: that is the next exercise.)
#include <cstdio>

constexpr int size = 256;

// A block has 32 x 8 threads, and a tile of 32 x 32 elements.
__global__ void transpose(const float* x, float* y) {
  __shared__ float tile[32][32];
  for (int r = threadIdx.y; r < 32; r += 8)
    tile[r][threadIdx.x] = x[(blockIdx.y * 32 + r) * size + blockIdx.x * 32 + threadIdx.x];
  __syncthreads();
  for (int r = threadIdx.y; r < 32; r += 8)
    y[(blockIdx.x * 32 + r) * size + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][r];
}

int main() {
  float *x, *y;
  cudaMallocManaged(&x, size * size * sizeof(float));
  cudaMallocManaged(&y, size * size * sizeof(float));
  for (int i = 0; i < size * size; ++i) x[i] = i;
  transpose<<<dim3(size / 32, size / 32), dim3(32, 8)>>>(x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j)
      if (y[i * size + j] != x[j * size + i]) {
        std::printf("y[%d][%d] is %g, and should be %g\n", i, j, y[i * size + j], x[j * size + i]);
        return 1;
      }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
