// Atomics on lines of their own, several of a type.
#include <cuda_runtime.h>

__global__ void sums(float* f, double* d, int* i) {
  atomicAdd(f, 1.0f);
  atomicAdd(f + 1, 1.0f);
  atomicAdd(d, 1.0);
  atomicAdd(i, 1);
  atomicMax(i + 1, static_cast<int>(threadIdx.x));
}
__global__ void once_more(float* f) {
  if (threadIdx.x > 3) atomicAdd(f, 1.0f);
  else atomicAdd(f + 2, 1.0f);
}

int main() {
  char* p;
  cudaMalloc(&p, 1024);
  cudaMemset(p, 0, 1024);
  sums<<<1, 32>>>((float*)p, (double*)(p + 64), (int*)(p + 128));
  once_more<<<1, 32>>>((float*)p);
  cudaFree(p);
}
