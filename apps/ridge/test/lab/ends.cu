// A host pointer given to a kernel, in a program that then ends without a word; and what is right: memory that memset
// fills, and a structure with padding.
#include <cstdlib>
#include <cstring>
#include <vector>

struct Padded {
  char a;
  short b;
};

__global__ void right(int* y, Padded* z) {
  __shared__ int s[64];
  __shared__ Padded t[64];
  if (threadIdx.x == 0) memset(s, 0, sizeof s);
  t[threadIdx.x].a = 1;
  t[threadIdx.x].b = 2;
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x];
  z[threadIdx.x] = t[63 - threadIdx.x];
}

int main(int argc, char**) {
  int* y;
  Padded* z;
  cudaMalloc(&y, 64 * sizeof(int));
  cudaMalloc(&z, 64 * sizeof(Padded));
  right<<<1, 64>>>(y, z);
  cudaDeviceSynchronize();
  if (argc > 1) {
    std::vector<int> host(64);
    right<<<1, 64>>>(host.data(), z);
    std::abort();
  }
  cudaFree(y);
  cudaFree(z);
}
