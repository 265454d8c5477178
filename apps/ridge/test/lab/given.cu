// Launches of one line and one shape that do not do the same.
#include <cuda_runtime.h>
#include <cstdio>

template <class T> __global__ void copy(const T* x, T* y, int n, int stride) {
  const int i = (blockIdx.x * blockDim.x + threadIdx.x) * stride % n;
  y[i] = x[i];
}
__global__ void clear(const float*, float* y, int n, int) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0;
}

template <class T> void go(T* x, T* y, int n, int stride) { copy<<<n / 256, 256>>>(x, y, n, stride); }

using Kernel = void (*)(const float*, float*, int, int);
void run(Kernel kernel, float* x, float* y, int n) { kernel<<<n / 256, 256>>>(x, y, n, 1); }

__global__ void step(float* x, int n, int number) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += number;
}

int main() {
  const int n = 1 << 14;
  float *x, *y;
  cudaMalloc(&x, n * sizeof(double));
  cudaMalloc(&y, n * sizeof(double));
  cudaMemset(x, 0, n * sizeof(double));
  for (int stride : {1, 8})
    for (int i = 0; i < 3; ++i) go(x, y, n, stride);
  go((double*)x, (double*)y, n, 1);
  run(copy<float>, x, y, n);
  run(clear, x, y, n);
  for (int number = 0; number < 50; ++number) step<<<n / 256, 256>>>(x, n, number);
  cudaFree(x);
  cudaFree(y);
}
