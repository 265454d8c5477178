// Launches that no device takes, and PTX of Hopper.
#include <cstdio>
__global__ void nothing() {}
__global__ void hopper(unsigned* out) {
  if (threadIdx.x == 0) *out = 1;
  asm volatile("wgmma.fence.sync.aligned;");
}

int main() {
  nothing<<<1, 2048>>>();
  std::printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  nothing<<<1, 32, 49153>>>();
  cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
  nothing<<<1, 32, 65537>>>();
  nothing<<<1, 32, 65536>>>();
  cudaGetLastError();
  unsigned* out;
  cudaMallocManaged(&out, sizeof *out);
  hopper<<<1, 32>>>(out);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
