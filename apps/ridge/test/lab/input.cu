// Reads standard input to its end, and fails where there is none.
#include <cstdio>

__global__ void add(int* sum, int x) { *sum += x; }

int main() {
  int *sum, x, count = 0;
  cudaMallocManaged(&sum, sizeof *sum);
  *sum = 0;
  for (; std::scanf("%d", &x) == 1; ++count) add<<<1, 1>>>(sum, x);
  cudaDeviceSynchronize();
  std::printf("sum %d of %d\n", *sum, count);
  const bool is_right = count == 1000 && *sum == 500500;
  cudaFree(sum);
  return !is_right;
}
