// A kernel that launches another one: it runs when the grid that launched it has ended.
#include <cstdio>

__global__ void child(int* x, int n, int depth) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += depth;
  if (i == 0 && depth < 3) child<<<(n + 31) / 32, 32>>>(x, n, depth + 1);
}

int main() {
  int* x;
  cudaMallocManaged(&x, 100 * sizeof(int));
  for (int i = 0; i < 100; ++i) x[i] = 0;
  child<<<4, 32>>>(x, 100, 1);
  cudaDeviceSynchronize();
  std::printf("%d %d\n", x[0], x[99]);
  cudaFree(x);
}
