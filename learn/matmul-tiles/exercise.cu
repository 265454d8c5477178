// ridge learn matmul-tiles
//
// c = a b for square matrices. Each thread of multiply() loads a whole row and a whole column from global memory. Let
// the block load tiles of 16 x 16 into shared memory, which all its threads use.
#include <cstdio>

constexpr int size = 96;

__global__ void multiply(const float* a, const float* b, float* c) {
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int k = 0; k < size; ++k) sum += a[row * size + k] * b[k * size + col];  // TODO
  c[row * size + col] = sum;
}

int main() {
  float *a, *b, *c;
  for (float** matrix : {&a, &b, &c}) cudaMallocManaged(matrix, size * size * sizeof(float));
  for (int i = 0; i < size * size; ++i) {
    a[i] = i * 7 % 11 - 5;
    b[i] = i * 3 % 13 - 6;
  }
  multiply<<<dim3(size / 16, size / 16), dim3(16, 16)>>>(a, b, c);
  if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess) {
    std::printf("the launch failed: %s\n", cudaGetErrorString(error));
    return 1;
  }
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) {
      float right = 0;
      for (int k = 0; k < size; ++k) right += a[i * size + k] * b[k * size + j];
      if (c[i * size + j] != right) {
        std::printf("c[%d][%d] is %g, and should be %g\n", i, j, c[i * size + j], right);
        return 1;
      }
    }
  std::printf("right\n");
  for (float* matrix : {a, b, c}) cudaFree(matrix);
}
