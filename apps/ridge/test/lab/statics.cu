// CUDA before main() and after it: objects of the program that live as long as it does.
#include <cstdio>
#include <memory>

__global__ void fill(float* x, float a) { x[threadIdx.x] = a; }

struct Buffer {
  explicit Buffer(bool at_once) {
    if (at_once) allocate();
  }
  ~Buffer() { cudaFree(x); }
  void allocate() {
    cudaMalloc(&x, 32 * sizeof(float));
    fill<<<1, 32>>>(x, 7);
  }
  float* x = nullptr;
};
static Buffer later(false);
Buffer before(true);
static std::unique_ptr<float, decltype(&cudaFree)> held(nullptr, cudaFree);

int main() {
  later.allocate();
  float *x, y[32];
  cudaMalloc(&x, 4);
  held.reset(x);
  cudaMemcpy(y, before.x, sizeof y, cudaMemcpyDeviceToHost);
  std::printf("%g\n", y[31]);
}
