// A sum in shared memory without the barrier between its steps.
#include <cstdio>

__global__ void sum(const float* x, float* out) {
  extern __shared__ float s[];
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2)
    if (t < step) s[t] += s[t + step];
  if (t == 0) *out = s[0];
}

int main() {
  float* x;
  cudaMallocManaged(&x, 65 * sizeof(float));
  for (int i = 0; i < 64; ++i) x[i] = 1;
  sum<<<1, 64, 64 * sizeof(float)>>>(x, x + 64);
  cudaDeviceSynchronize();
  cudaFree(x);
}
