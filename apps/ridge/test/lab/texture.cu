#include <cuda_runtime.h>

__global__ void read(cudaTextureObject_t image, float* y) { y[threadIdx.x] = tex2D<float>(image, threadIdx.x, 0); }

int main() { return 0; }
