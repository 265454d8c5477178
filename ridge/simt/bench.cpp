// The cost of the CPU runtime: a table for barriers, shuffles, launches and empty threads, on one worker.
#include <ridge/simt/simt.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using ridge::simt::Config;
using ridge::simt::tile;

__global__ void barriers(int n) {
  for (int i = 0; i < n; ++i) __syncthreads();
}

template <int Warp> __global__ void shuffles(float* out, int n) {
  tile<Warp> warp;
  float value = static_cast<float>(threadIdx.x);
  for (int i = 0; i < n; ++i) value = warp.shfl_xor(value, 1 + i % (Warp - 1));
  out[threadIdx.x] = value;
}

__global__ void nothing() {}

// Seconds of the fastest of several repetitions.
template <class F> double fastest(F f) {
  double best = 1e30;
  for (int i = 0; i < 7; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (const ridge::Status status = f(); !status.ok()) {
      std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
      std::exit(1);
    }
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void line(const char* what, int block, double ns, const char* unit) {
  std::printf("%-10s  block %4d  %9.2f ns per %s\n", what, block, ns, unit);
}

}  // namespace

int main() {
  setenv("RIDGE_WORKERS", "1", 1);
  constexpr int n = 4000;
  for (int block : {32, 64, 128, 256, 512, 1024}) {
    const double s = fastest([&] { return launch(Config{dim3(1), dim3(block)}, barriers, n); });
    line("barrier", block, s * 1e9 / n / block, "thread and barrier");
  }
  std::vector<float> out(1024);
  for (int block : {64, 256, 1024}) {
    const Config narrow{.grid = dim3(1), .block = dim3(block)};
    const Config wide{.grid = dim3(1), .block = dim3(block), .warp = 64};
    const double s32 = fastest([&] { return launch(narrow, shuffles<32>, out.data(), n); });
    const double s64 = fastest([&] { return launch(wide, shuffles<64>, out.data(), n); });
    line("shuffle 32", block, s32 * 1e9 / n / block, "lane and shuffle");
    line("shuffle 64", block, s64 * 1e9 / n / block, "lane and shuffle");
  }
  constexpr int blocks = 1024;
  const double threads = fastest([&] { return launch(Config{dim3(blocks), dim3(256)}, nothing); });
  line("thread", 256, threads * 1e9 / blocks / 256, "thread that does nothing");
  const double launches = fastest([&] { return launch(Config{dim3(1), dim3(32)}, nothing); });
  line("launch", 32, launches * 1e9, "launch of one block");
}
