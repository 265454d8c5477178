// ridge learn histogram
//
// Each element costs histogram() an atomic of global memory. Let each block count in shared memory, and add that at the
// end.
#include <cstdio>

constexpr int n = 32768, bins_count = 256;

__global__ void histogram(const unsigned char* x, int* bins) {
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&bins[x[i]], 1);  // TODO
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
