// ridge learn block-reduction
//
// With a distance that shrinks, the threads that work are 0 to step - 1: of eight warps four work in the first step,
// two in the second, one in the third, and the others skip the body at once. Lanes part only in the last five steps, in
// one warp. Neighbouring lanes access neighbouring words, so there are no bank conflicts either.
#include <cstdio>

constexpr int n = 16384;

__global__ void sum(const int* x, int* sums) {
  __shared__ int s[256];
  const int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (t < step) s[t] += s[t + step];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = s[0];
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
