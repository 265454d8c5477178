// The last block's threads beyond n, and a row of a shared array beyond its end.
__global__ void fill(int* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }

int main() {
  int* x;
  cudaMalloc(&x, 1000 * sizeof(int));
  fill<<<4, 256>>>(x);
  const cudaError_t error = cudaDeviceSynchronize();
  cudaFree(x);
  return error;
}
