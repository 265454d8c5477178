// ridge learn thread-tile
//
// 16 products for 8 loads, where there were two loads for each product: a quarter of the loads in all. Shared memory
// gives a warp 32 words in a clock and the multiprocessor does 128 products in it, so a kernel with two loads for each
// product can use an eighth of the arithmetic. Larger tiles for each thread go on like this until the registers are
// full. (A real matrix is large enough that its 32 x 32 tiles fill the device; this one has 16.)
#include <cstdio>

constexpr int size = 128, depth = 32;

// a is size x depth, b is depth x size.
__global__ void multiply(const float* a, const float* b, float* c) {
  __shared__ float ta[32][17], tb[16][32];  // 17: a column of ta lies in different banks
  const int x = threadIdx.x, y = threadIdx.y, t = y * 8 + x;
  const int col = blockIdx.x * 32, row = blockIdx.y * 32;
  float sum[4][4] = {};
  for (int k = 0; k < depth; k += 16) {
    for (int p = t; p < 32 * 16; p += 64) {
      ta[p / 16][p % 16] = a[(row + p / 16) * depth + k + p % 16];
      tb[p / 32][p % 32] = b[(k + p / 32) * size + col + p % 32];
    }
    __syncthreads();
    for (int step = 0; step < 16; ++step) {
      float av[4], bv[4];
      for (int i = 0; i < 4; ++i) av[i] = ta[y + 8 * i][step];
      for (int j = 0; j < 4; ++j) bv[j] = tb[step][x + 8 * j];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] += av[i] * bv[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) c[(row + y + 8 * i) * size + col + x + 8 * j] = sum[i][j];
}

int main() {
  float *a, *b, *c;
  cudaMallocManaged(&a, size * depth * sizeof(float));
  cudaMallocManaged(&b, depth * size * sizeof(float));
  cudaMallocManaged(&c, size * size * sizeof(float));
  for (int i = 0; i < size * depth; ++i) {
    a[i] = i * 7 % 11 - 5;
    b[i] = i * 3 % 13 - 6;
  }
  multiply<<<dim3(size / 32, size / 32), dim3(8, 8)>>>(a, b, c);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) {
      float right = 0;
      for (int k = 0; k < depth; ++k) right += a[i * depth + k] * b[k * size + j];
      if (c[i * size + j] != right) {
        std::printf("c[%d][%d] is %g, and should be %g\n", i, j, c[i * size + j], right);
        return 1;
      }
    }
  std::printf("right\n");
  for (float* matrix : {a, b, c}) cudaFree(matrix);
}
