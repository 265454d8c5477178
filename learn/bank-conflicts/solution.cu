// ridge learn bank-conflicts
//
// A row of 33 words: word r * 33 + c lies in bank (r + c) % 32, so that the 32 lanes have 32 banks whether they access
// a row or a column. A column took 32 turns (wavefronts) before, and takes one now. The price is 128 bytes of shared
// memory.
#include <cstdio>

constexpr int size = 256;

// A block has 32 x 8 threads, and a tile of 32 x 32 elements.
__global__ void transpose(const float* x, float* y) {
  __shared__ float tile[32][33];
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
