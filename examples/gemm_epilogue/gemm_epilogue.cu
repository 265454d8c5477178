// D = min(A B + bias, limit): a GEMM kernel of Ridge with a custom epilogue.
#include <cstdio>
#include <ridge/core/memory.hpp>
#include <ridge/gemm/thread_tile.cuh>

using namespace ridge::gemm_kernels;

struct BiasClamp {  // bias [n], d [m, n]
  const float* bias;
  float limit, *d;
  std::int64_t n;
  template <int V> __device__ void operator()(ridge::simt::vec<float, V> sums, At at) const {
    for (int v = 0; v < V && v < at.count; ++v) d[at.row * n + at.col + v] = fminf(sums[v] + bias[at.col + v], limit);
  }
};

struct Policy {  // 64x64 of D per block, 8x4 per thread, three stages of asynchronous copies
  static constexpr Config config{
      .bm = 64, .bn = 64, .bk = 16, .tn = 4, .pipeline = Pipeline::multistage, .stages = 3, .conflict_free = true};
};

int main() {
  constexpr int m = 100, n = 92, k = 72, in = m * k + k * n + n;
  const ridge::Device device{RIDGE_SIMT_ON_CPU ? ridge::DeviceKind::cpu : ridge::DeviceKind::cuda, 0};
  static float x[in + m * n];  // a, b and bias (small whole numbers), then d
  for (int i = 0; i < in; ++i) x[i] = static_cast<float>(i * 7 % 11) - 5;
  auto memory = ridge::Buffer::allocate(device, sizeof x);
  if (!memory || !copy_bytes(memory->data(), device, x, {}, sizeof x)) return std::puts("no device"), 77;
  auto *a = static_cast<float*>(memory->data()), *b = a + m * k, *bias = b + k * n, *d = bias + n;
  const auto status = launch_thread_tile<Policy, float, Major::k, Major::outer>(Operand<float>{a, k, 1}, {b, 1, n},
                                                                                {m, n, k}, BiasClamp{bias, 20, d, n});
  int wrong = !status.ok() || !copy_bytes(x, {}, memory->data(), device, sizeof x).ok();
  for (int i = 0; i < m * n; ++i) {
    float sum = x[m * k + k * n + i % n];
    for (int j = 0; j < k; ++j) sum += x[i / n * k + j] * x[m * k + j * n + i % n];
    wrong += x[in + i] != std::min(sum, 20.0f);
  }
  return std::printf("%s, %d of %d elements wrong\n", std::string(status.message()).c_str(), wrong, m * n), wrong != 0;
}
