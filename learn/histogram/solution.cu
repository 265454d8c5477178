// ridge learn histogram
//
// Atomics of shared memory stay on the multiprocessor, and blocks do not wait for each other. The price is 256 atomics
// of global memory for each block, paid once: the more elements a block has, the less they count.
#include <cstdio>

constexpr int n = 32768, bins_count = 256;

__global__ void histogram(const unsigned char* x, int* bins) {
  __shared__ int mine[bins_count];
  const int t = threadIdx.x;
  mine[t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) atomicAdd(&mine[x[i]], 1);
  __syncthreads();
  if (mine[t] > 0) atomicAdd(&bins[t], mine[t]);
}

int main() {
  unsigned char* x;
  int* bins;
  cudaMallocManaged(&x, n);
  cudaMallocManaged(&bins, bins_count * sizeof(int));
  int right[bins_count] = {};
  for (int i = 0; i < bins_count; ++i) bins[i] = 0;
  for (int i = 0; i < n; ++i) {
    x[i] = static_cast<unsigned char>(i * i / 77 % bins_count);
    ++right[x[i]];
  }
  histogram<<<16, 256>>>(x, bins);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < bins_count; ++i)
    if (bins[i] != right[i]) {
      std::printf("bins[%d] is %d, and should be %d\n", i, bins[i], right[i]);
      return 1;
    }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(bins);
}
