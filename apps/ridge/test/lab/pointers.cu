// Functions of CUDA whose pointers are taken, and kernels that are launched by theirs.
#include <cstdio>
#include <functional>
#include <memory>

__global__ void add(float* x, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (x && i < n) x[i] += a;
}
template <class T> __global__ void __launch_bounds__(256, 2) fill(T* x, T a, int n) {
  if (threadIdx.x < n) x[threadIdx.x] = a;
}
__global__ void place(float* x, float2 at, int2 by) { x[by.x] = at.x + at.y; }

#define LAUNCH(name, T, ...) name##_##T<<<1, 32>>>(__VA_ARGS__)
__global__ void twice_float(float* x) { x[threadIdx.x] *= 2; }

template <class K> void by_pointer(K kernel, void** arguments) {
  cudaLaunchKernel((const void*)kernel, dim3(1), dim3(32), arguments, 0, 0);
}
template <auto Free> struct Deleter {
  template <class T> void operator()(T* p) const { Free(p); }
};

int main() {
  float *p, *q, *r;
  cudaMallocManaged(&p, 32 * sizeof(float));
  cudaMalloc(&q, 32 * sizeof(float));
  cudaMalloc(&r, 32 * sizeof(float));
  const std::unique_ptr<float, decltype(&cudaFree)> owner(p, &cudaFree);
  const std::shared_ptr<float> shared(q, cudaFree);
  const std::unique_ptr<float, Deleter<cudaFree>> other(r);
  float* s;
  cudaMalloc(&s, 4);
  const auto release = [](void* x) { return cudaFree(x); };
  release(s);
  const std::function<cudaError_t(void*)> free = cudaFree;
  free(nullptr);
  const std::function<cudaError_t()> wait = cudaDeviceSynchronize;
  cudaFree(0);

  float one = 1;
  int n = 32;
  void* arguments[] = {&p, &one, &n};
  fill<<<{1, 1}, {32}>>>(p, 0.0f, n);                                       // 0
  cudaLaunchKernel((const void*)fill<float>, 1, 32, arguments);             // 1
  cudaLaunchKernel(reinterpret_cast<const void*>(&add), 1, 32, arguments);  // 2
  by_pointer(add, arguments);                                               // 3
  const void* known = (const void*)add;
  cudaLaunchKernel(known, 1, 32, arguments);  // 4
  void* table[] = {(void*)add, (void*)&fill<float>};
  cudaLaunchKernel(table[0], 1, 32, arguments);  // 5
  LAUNCH(twice, float, p);                       // 10
  add<<<1, 32>>>(0, 1.0f, 0);
  add<<<1, 32>>>(p, 0, n);
  place<<<1, 1>>>(p, {3.0f, 4.0f}, {5, 0});
  wait();
  std::printf("%g %g\n", p[0], p[5]);
  int unknown = 0;
  const void* volatile hidden = &unknown;
  return cudaLaunchKernel(hidden, 1, 32, arguments) != cudaErrorNotSupported;
}
