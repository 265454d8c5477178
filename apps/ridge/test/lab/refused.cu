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
  unsigned* out;
  cudaMallocManaged(&out, sizeof *out);
  hopper<<<1, 32>>>(out);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
