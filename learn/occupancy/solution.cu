// ridge learn occupancy
//
// No thread reads what another one stored, so the tile need not be in shared memory at all: a thread adds up while it
// loads. Sixteen such blocks fit on a multiprocessor, whose 64 warps have four times the loads in flight. Where a tile
// is needed, a smaller one with more steps does the same.
#include <cstdio>

constexpr int rows = 768, cols = 512, tile = 96;

// sums has a row of cols for each block row.
__global__ void column_sums(const int* x, int* sums) {
  const int t = threadIdx.x, col = blockIdx.x * 128 + t;
  int sum = 0;
  for (int r = 0; r < tile; ++r) sum += x[(blockIdx.y * tile + r) * cols + col];
  sums[blockIdx.y * cols + col] = sum;
}

int main() {
  int *x, *sums;
  cudaMallocManaged(&x, rows * cols * sizeof(int));
  cudaMallocManaged(&sums, rows / tile * cols * sizeof(int));
  for (int i = 0; i < rows * cols; ++i) x[i] = i % 1000;
  column_sums<<<dim3(cols / 128, rows / tile), 128>>>(x, sums);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int b = 0; b < rows / tile; ++b)
    for (int c = 0; c < cols; ++c) {
      int right = 0;
      for (int r = 0; r < tile; ++r) right += x[(b * tile + r) * cols + c];
      if (sums[b * cols + c] != right) {
        std::printf("sums[%d][%d] is %d, and should be %d\n", b, c, sums[b * cols + c], right);
        return 1;
      }
    }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(sums);
}
