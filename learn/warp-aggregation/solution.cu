// ridge learn warp-aggregation
//
// One lane takes places for the whole warp, and the ballot tells each lane which of them is its own: a tenth of the
// atomics, and the stores of a warp lie beside each other. nvcc does this by itself where it sees that all lanes add to
// one address; it does not where the address depends on data.
#include <cstdio>

constexpr int n = 16384;

__global__ void keep_multiples(const int* x, int* kept, int* count) {
  const int v = x[blockIdx.x * 256 + threadIdx.x];
  const bool keeps = v % 3 == 0;
  const int lane = threadIdx.x % 32;
  const unsigned all = __ballot_sync(0xffffffff, keeps);
  int first = 0;
  if (lane == 0) first = atomicAdd(count, __popc(all));
  first = __shfl_sync(0xffffffff, first, 0);
  if (keeps) kept[first + __popc(all & ((1u << lane) - 1))] = v;
}

int main() {
  int *x, *kept, *count;
  cudaMallocManaged(&x, n * sizeof(int));
  cudaMallocManaged(&kept, n * sizeof(int));
  cudaMallocManaged(&count, sizeof(int));
  *count = 0;
  int right = 0;
  long long sum = 0;
  for (int i = 0; i < n; ++i) {
    x[i] = i * 7 % 10007;
    if (x[i] % 3 == 0) ++right, sum += x[i];
  }
  keep_multiples<<<n / 256, 256>>>(x, kept, count);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  if (*count != right) {
    std::printf("%d elements were kept, and should have been %d\n", *count, right);
    return 1;
  }
  for (int i = 0; i < right; ++i) {
    if (kept[i] % 3 != 0) {
      std::printf("kept[%d] is %d, which is no multiple of 3\n", i, kept[i]);
      return 1;
    }
    sum -= kept[i];
  }
  if (sum != 0) {
    std::printf("elements were kept twice, and others lost\n");
    return 1;
  }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(kept);
  cudaFree(count);
}
