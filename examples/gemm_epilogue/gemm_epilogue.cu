// D = min(A B + bias, limit): a GEMM kernel of Ridge's parts, with an epilogue of one's own.
#include <ridge/core/memory.hpp>
#include <ridge/gemm/thread_tile.cuh>

#include <cstdio>
#include <vector>

using namespace ridge;
using namespace ridge::gemm_kernels;

struct BiasClamp {  // bias [n], limit and d [m, n]
  const float *bias, *limit;
  float* d;
  std::int64_t n;
  template <int V> __device__ void operator()(simt::vec<float, V> sums, At at) const {
    for (int v = 0; v < V; ++v)
      if (v < at.count) d[at.row * n + at.col + v] = fminf(sums[v] + bias[at.col + v], limit[at.row * n + at.col + v]);
  }
};

struct Row {  // 64x64 of D per block, 8x4 per thread, three stages of asynchronous copies
  static constexpr Config config{
      .bm = 64, .bn = 64, .bk = 16, .tn = 4, .pipeline = Pipeline::multistage, .stages = 3, .conflict_free = true};
};

int main() {
  constexpr int m = 100, n = 92, k = 72;
  const Device device{std::is_same_v<simt::Backend, simt::Cpu> ? DeviceKind::cpu : DeviceKind::cuda, 0};
  std::vector<float> host(m * k + k * n + n + 2 * m * n);  // a, b, bias, limit, d: small whole numbers
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i * 7 % 11) - 5;
  auto memory = Buffer::allocate(device, host.size() * 4);
  if (!memory || !copy_bytes(memory->data(), device, host.data(), {}, host.size() * 4))
    return std::puts("no device"), 77;
  float *a = static_cast<float*>(memory->data()), *b = a + m * k, *bias = b + k * n, *limit = bias + n,
        *d = limit + m * n;
  const Status status = launch_thread_tile<Row, float, Major::k, Major::outer>(Operand<float>{a, k, 1}, {b, 1, n},
                                                                               {m, n, k}, BiasClamp{bias, limit, d, n});
  int wrong = !status.ok() || !copy_bytes(host.data(), {}, memory->data(), device, host.size() * 4).ok();
  for (int i = 0; i < m * n; ++i) {
    float sum = host[m * k + k * n + i % n];
    for (int j = 0; j < k; ++j) sum += host[i / n * k + j] * host[m * k + j * n + i % n];
    wrong += host[host.size() - m * n + i] != std::min(sum, host[host.size() - 2 * m * n + i]);
  }
  return std::printf("%s, %d of %d elements wrong\n", std::string(status.message()).c_str(), wrong, m * n), wrong != 0;
}
