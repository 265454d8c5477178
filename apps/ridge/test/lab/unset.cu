// Shared memory that nobody has written; threads that leave before a barrier, which devices since Volta allow.
__global__ void half_set(int* y, int n) {
  __shared__ int s[64];
  if (threadIdx.x >= n) return;
  if (threadIdx.x < 32) s[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}

int main() {
  int* y;
  cudaMalloc(&y, 64 * sizeof(int));
  half_set<<<1, 64>>>(y, 40);
  const cudaError_t error = cudaDeviceSynchronize();
  cudaFree(y);
  return error;
}
