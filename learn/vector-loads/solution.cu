// ridge learn vector-loads
//
// A warp moves 512 bytes in one instruction, not 128. The sectors are the same, but there are a quarter of the
// instructions, of the address computations and of the threads, and each thread has four times the bytes in flight:
// what keeps memory busy.
#include <cstdio>

constexpr int n = 65536;

__global__ void scale(float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = reinterpret_cast<const float4*>(x)[i];
  v.x *= a, v.y *= a, v.z *= a, v.w *= a;
  reinterpret_cast<float4*>(y)[i] = v;
}

int main() {
  float *x, *y;
  cudaMallocManaged(&x, n * sizeof(float));
  cudaMallocManaged(&y, n * sizeof(float));
  for (int i = 0; i < n; ++i) x[i] = 1 + i % 1000;
  scale<<<n / 4 / 256, 256>>>(3.0f, x, y);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < n; ++i)
    if (y[i] != 3 * x[i]) {
      std::printf("y[%d] is %g, and should be %g\n", i, y[i], 3 * x[i]);
      return 1;
    }
  std::printf("right\n");
  cudaFree(x);
  cudaFree(y);
}
