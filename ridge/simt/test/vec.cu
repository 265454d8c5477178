// vec, load, store and their streaming forms; dynamic shared memory.
#include <ridge/simt/test/support.hpp>

#include <vector>

namespace simt_test {
namespace {

using simt::vec;

static_assert(alignof(vec<float, 1>) == 4 && alignof(vec<float, 4>) == 16 && alignof(vec<double, 4>) == 16);
static_assert(alignof(vec<half, 2>) == 4 && alignof(vec<char, 2>) == 2 && sizeof(vec<half, 8>) == 16);

template <class T, int N> __global__ void reverse(const T* in, T* out, T* streamed) {
  const int i = simt::thread_rank() * N;
  vec<T, N> x = simt::load<N>(in + i), y;
  for (int k = 0; k < N; ++k) y[k] = x[N - 1 - k];
  simt::store(out + i, y);
  simt::store_streaming(streamed + i, simt::load_streaming<N>(in + i));
}

template <class T, int N> void check_reverse() {
  constexpr int threads = 33;
  std::vector<T> in(threads * N), out(threads * N), streamed(threads * N);
  for (int i = 0; i < threads * N; ++i) in[i] = static_cast<T>(static_cast<float>(i % 100));
  ASSERT_RUNS(launch(one_block(threads), reverse<T, N>, in.data(), out.data(), streamed.data()));
  for (int i = 0; i < threads * N; ++i) {
    EXPECT_EQ(float(out[i]), float(in[i / N * N + N - 1 - i % N]));
    EXPECT_EQ(float(streamed[i]), float(in[i]));
  }
}

TEST(SimtVec, LoadsAndStores) {
  check_reverse<float, 1>();
  check_reverse<float, 4>();
  check_reverse<float, 8>();
  check_reverse<double, 2>();
  check_reverse<half, 8>();
  check_reverse<bfloat16, 2>();
  check_reverse<char, 16>();
  check_reverse<char, 2>();
}

constexpr int misaligned_load_line = __LINE__ + 1;
__global__ void misaligned_load(float* x, int shift) { x[0] = simt::load<4>(x + shift)[3]; }
constexpr int misaligned_store_line = __LINE__ + 1;
__global__ void misaligned_store(float* x, int shift) { simt::store_streaming(x + shift, simt::vec<float, 2>{}); }

TEST(SimtVec, AMisalignedAccessIsAnError) {
  alignas(16) float x[8] = {};
  char address[32];
  std::snprintf(address, sizeof address, "%p", static_cast<void*>(x + 1));
  const std::string who = "block (0,0,0), thread (0,0,0): misaligned access: address ";
  EXPECT_EQ(text(launch(one_block(1), misaligned_load, x, 1)),
            who + address + " is not a multiple of 16, vec.cu:" + std::to_string(misaligned_load_line));
  EXPECT_EQ(text(launch(one_block(1), misaligned_store, x, 1)),
            who + address + " is not a multiple of 8, vec.cu:" + std::to_string(misaligned_store_line));
  ASSERT_RUNS(launch(one_block(1), misaligned_load, x, 4));
  ASSERT_RUNS(launch(one_block(1), misaligned_store, x, 2));
}

// ---- dynamic shared memory ---------------------------------------------------------------------------------------
__global__ void mirror(const int* in, int* out) {
  int* s = simt::dynamic_shared<int>();
  s[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}

TEST(SimtVec, DynamicSharedMemory) {
  for (int threads : {1, 7, 64, 100}) {
    constexpr int blocks = 5;
    std::vector<int> in(blocks * threads), out(blocks * threads);
    for (int i = 0; i < blocks * threads; ++i) in[i] = i;
    ASSERT_RUNS(launch({dim3(blocks), dim3(threads), threads * sizeof(int)}, mirror, in.data(), out.data()));
    for (int i = 0; i < blocks * threads; ++i) EXPECT_EQ(out[i], i / threads * threads + threads - 1 - i % threads);
  }
}

__global__ void shared_address(std::uintptr_t* address) {
  *address = reinterpret_cast<std::uintptr_t>(simt::dynamic_shared<char>());
}

TEST(SimtVec, DynamicSharedMemoryIsAlignedForBulkCopies) {
  std::uintptr_t address = 1;
  ASSERT_RUNS(launch({dim3(1), dim3(1), 232448}, shared_address, &address));
  EXPECT_EQ(address % 128, 0u);
  ASSERT_RUNS(launch({dim3(1), dim3(1)}, shared_address, &address));
  EXPECT_EQ(address, 0u);
}

}  // namespace
}  // namespace simt_test
