// ridge learn thread-tile
//
// multiply() is the product in shared tiles of the exercise before, with a and b of 128 x 32 and 32 x 128. Let each
// thread compute 4 x 4 elements of c in registers.
#include <cstdio>

constexpr int size = 128, depth = 32;

// a is size x depth, b is depth x size.
__global__ void multiply(const float* a, const float* b, float* c) {
  __shared__ float ta[16][16], tb[16][16];  // TODO
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < depth; k += 16) {
    ta[threadIdx.y][threadIdx.x] = a[row * depth + k + threadIdx.x];
    tb[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * size + col];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  c[row * size + col] = sum;
}

int main() {
  float *a, *b, *c;
  cudaMallocManaged(&a, size * depth * sizeof(float));
  cudaMallocManaged(&b, depth * size * sizeof(float));
  cudaMallocManaged(&c, size * size * sizeof(float));
  for (int i = 0; i < size * depth; ++i) {
    a[i] = i * 7 % 11 - 5;
    b[i] = i * 3 % 13 - 6;
  }
  multiply<<<dim3(size / 16, size / 16), dim3(16, 16)>>>(a, b, c);  // TODO
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) {
      float right = 0;
      for (int k = 0; k < depth; ++k) right += a[i * depth + k] * b[k * size + j];
      if (c[i * size + j] != right) {
        std::printf("c[%d][%d] is %g, and should be %g\n", i, j, c[i * size + j], right);
        return 1;
      }
    }
  std::printf("right\n");
  for (float* matrix : {a, b, c}) cudaFree(matrix);
}
