// ridge learn dot-product
//
// All multiprocessors load at the same time, and the loads of a thread are a few, not hundreds one after the other:
// that is where the time went. Each block adds its sum by one atomic. The sums are integers here; of floats the order
// of the atomics, and with it the last digits, would differ from run to run.
#include <cstdio>

constexpr int n = 67584;

__global__ void dot(const int* x, const int* y, int* out) {
  __shared__ int s[8];  // of each warp
  const int t = threadIdx.x;
  int v = 0;
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) v += x[i] * y[i];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t >= 32) return;
  v = t < 8 ? s[t] : 0;
  for (int d = 4; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (t == 0) atomicAdd(out, v);
}

int main() {
  int *x, *y, *out;
  cudaMallocManaged(&x, n * sizeof(int));
  cudaMallocManaged(&y, n * sizeof(int));
  cudaMallocManaged(&out, sizeof(int));
  *out = 0;
  int right = 0;
  for (int i = 0; i < n; ++i) {
    x[i] = i % 17;
    y[i] = i % 23 - 11;
    right += x[i] * y[i];
  }
  dot<<<132, 256>>>(x, y, out);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  if (*out != right) {
    std::printf("the product is %d, and should be %d\n", *out, right);
    return 1;
  }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
  cudaFree(out);
}
