// Wrong kernels that a sanitizer must find, and right ones in which it must find nothing. Each runs in a process of its
// own, because a sanitizer's report ends the process: simt_misuse KERNEL.
#include <ridge/simt/simt.hpp>

#include <cstdio>
#include <memory>
#include <string_view>

namespace {

using ridge::simt::Config;
using ridge::simt::launch;

// ---- bounds ------------------------------------------------------------------------------------------------------
__global__ void shared_beyond_end(float* x, int k) {
  __shared__ float s[64];
  s[threadIdx.x + k] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void shared_by_pointer(float* x, int k) {
  __shared__ float s[64];
  float* p = s + threadIdx.x;
  p[k] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void shared_beyond_row(float* x, int k) {
  __shared__ float s[8][8];
  s[threadIdx.x / 8][threadIdx.x % 8 + k] = 1;
  __syncthreads();
  x[threadIdx.x] = s[0][threadIdx.x % 8];
}
__global__ void dynamic_beyond_end(float* x, int k) {
  float* s = ridge::simt::dynamic_shared<float>();
  s[threadIdx.x + k] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void global_beyond_end(float* x, int k) { x[threadIdx.x + k] = 1; }
__global__ void misaligned_pointer(float* x, int k) {
  const char* bytes = reinterpret_cast<const char*>(x) + k;
  x[threadIdx.x] = *reinterpret_cast<const float*>(bytes);
}
__attribute__((noinline)) float recurse(float* x, int depth) {
  volatile float frame[256] = {};
  frame[depth & 255] = x[0];
  return depth < 0 ? 0.0f : recurse(x, depth + 1) + frame[depth & 127];
}
__global__ void endless_recursion(float* x, int k) { x[0] = recurse(x, k); }

// ---- races -------------------------------------------------------------------------------------------------------
__global__ void missing_barrier(float* x, int) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[63 - threadIdx.x];
}
__global__ void missing_second_barrier(float* x, int) {
  __shared__ float s[64];
  for (int i = 0; i < 2; ++i) {
    s[threadIdx.x] = x[threadIdx.x] + static_cast<float>(i);
    __syncthreads();
    x[threadIdx.x] = s[63 - threadIdx.x];
  }
}
__global__ void missing_broadcast_barrier(float* x, int) {
  __shared__ float s;
  if (threadIdx.x == 0) s = 7;
  x[threadIdx.x] = s;
}
__global__ void missing_syncwarp(float* x, int) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void spins(float* x, int) {
  while (static_cast<volatile float*>(x)[0] >= 0) {}
}

// ---- nothing wrong -----------------------------------------------------------------------------------------------
__global__ void good_syncwarp(float* x, int) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  x[threadIdx.x] = s[threadIdx.x ^ 1];
}
__global__ void good_barriers(float* x, int) {
  __shared__ float s[64];
  for (int i = 0; i < 3; ++i) {
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[63 - threadIdx.x];
    __syncthreads();
  }
}
__global__ void good_atomics(float* x, int) { atomicAdd(x, 1.0f); }
__global__ void good_fence(float* x, int) {
  auto* flag = reinterpret_cast<unsigned*>(x + 1);
  if (threadIdx.x == 0) {
    x[0] = 5;
    __threadfence();
    atomicExch(flag, 7u);
  } else {
    while (atomicAdd(flag, 0u) != 7u) __nanosleep(20);
    __threadfence();
    if (x[0] != 5) x[2] = 1;
  }
}

struct Entry {
  std::string_view name;
  void (*kernel)(float*, int);
  int k;
  unsigned blocks;
};
constexpr Entry entries[] = {
    {"shared_beyond_end", shared_beyond_end, 4, 1},
    {"shared_by_pointer", shared_by_pointer, 4, 1},
    {"shared_beyond_row", shared_beyond_row, 1, 1},
    {"dynamic_beyond_end", dynamic_beyond_end, 4, 1},
    {"global_beyond_end", global_beyond_end, 4, 1},
    {"misaligned_pointer", misaligned_pointer, 1, 1},
    {"endless_recursion", endless_recursion, 0, 1},
    {"missing_barrier", missing_barrier, 0, 1},
    {"missing_second_barrier", missing_second_barrier, 0, 1},
    {"missing_broadcast_barrier", missing_broadcast_barrier, 0, 1},
    {"missing_syncwarp", missing_syncwarp, 0, 1},
    {"spins", spins, 0, 1},
    {"good_syncwarp", good_syncwarp, 0, 1},
    {"good_barriers", good_barriers, 0, 1},
    {"good_atomics", good_atomics, 0, 64},
    {"good_fence", good_fence, 0, 1},
};

}  // namespace

int main(int argc, char** argv) {
  const std::unique_ptr<float[]> x(new float[64]());
  for (const Entry& entry : entries) {
    if (argc != 2 || entry.name != argv[1]) continue;
    const Config config{.grid = dim3(entry.blocks), .block = dim3(64), .smem = 64 * sizeof(float)};
    const ridge::Status status = launch(config, entry.kernel, x.get(), entry.k);
    std::puts(status.ok() ? "no error" : std::string(status.message()).c_str());
    return status.ok() ? 0 : 1;
  }
  std::fputs("usage: simt_misuse KERNEL\n", stderr);
  return 2;
}
