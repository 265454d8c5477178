// ridge learn occupancy
//
// A block of column_sums() copies its 96 x 128 elements to shared memory, 48 KB, and adds up the columns. Only a few
// such blocks fit on a multiprocessor. Make room.
#include <cstdio>

constexpr int rows = 768, cols = 512, tile = 96;

// sums has a row of cols for each block row.
__global__ void column_sums(const int* x, int* sums) {
  const int t = threadIdx.x, col = blockIdx.x * 128 + t;
  int sum = 0;
  __shared__ int s[tile][128];  // TODO
  for (int r = 0; r < tile; ++r) s[r][t] = x[(blockIdx.y * tile + r) * cols + col];
  __syncthreads();
  for (int r = 0; r < tile; ++r) sum += s[r][t];
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
