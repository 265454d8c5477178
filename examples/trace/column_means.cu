// A user's kernel under the trace: the mean of each column of a matrix, in a first version and in a corrected one.
//
// The program only needs to be linked with ridge::trace (CMakeLists.txt). README.md shows its output.
#include <ridge/simt/simt.hpp>
#include <ridge/simt/trace.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace {

using namespace ridge;

constexpr int tile = 32;

// means[c] = mean of x[:, c]                        x: [rows, cols]  means: [cols]  block: (tile, tile)
//
// A block takes 32 columns. The kernel has three faults: neighbouring threads read addresses a row apart; a warp stores
// 32 sums to one bank; and where there are few rows, some sums are read but never written.
__global__ void means_first(const float* x, float* means, int rows, int cols) {
  __shared__ float sums[tile][tile];
  const int row = threadIdx.x, col = blockIdx.x * tile + threadIdx.y;
  if (row < rows) {
    float sum = 0;
    for (int r = row; r < rows; r += tile) sum += x[r * cols + col];
    sums[threadIdx.x][threadIdx.y] = sum;
  }
  __syncthreads();
  if (threadIdx.y == 0) {
    float sum = 0;
    for (int r = 0; r < tile; ++r) sum += sums[r][threadIdx.x];
    means[blockIdx.x * tile + threadIdx.x] = sum / rows;
  }
}

// The same, but neighbouring threads read neighbouring columns, and every sum is written.
__global__ void means_mended(const float* x, float* means, int rows, int cols) {
  __shared__ float sums[tile][tile];
  const int row = threadIdx.y, col = blockIdx.x * tile + threadIdx.x;
  float sum = 0;
  for (int r = row; r < rows; r += tile) sum += x[r * cols + col];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0) {
    sum = 0;
    for (int r = 0; r < tile; ++r) sum += sums[r][threadIdx.x];
    means[col] = sum / rows;
  }
}

bool show(void (*kernel)(const float*, float*, int, int), int rows, int cols) {
  const auto aligned = [](int count) {  // aligned like cudaMalloc's memory
    return std::unique_ptr<float, void (*)(void*)>(static_cast<float*>(std::aligned_alloc(256, sizeof(float) * count)),
                                                   std::free);
  };
  const auto x = aligned(rows * cols), means = aligned(cols);
  for (int i = 0; i < rows * cols; ++i) x.get()[i] = static_cast<float>(i % cols);
  const auto report = simt::trace::record([&] {
    return simt::launch({.grid = dim3(cols / tile), .block = dim3(tile, tile)}, kernel, x.get(), means.get(), rows,
                        cols);
  });
  if (!report) {  // a kernel broke a rule: the message names the thread and the line
    std::printf("%s\n", std::string(report.error().message()).c_str());
    return false;
  }
  std::fputs(report->text().c_str(), stdout);
  // The properties that a test would check.
  const auto& launch = report->launches[0];
  const bool good = launch.coalesced() && launch.without_conflicts() && launch.unset_reads() == 0;
  std::printf("%s\n\n", good ? "as few sectors and wavefronts as can be, and nothing unset" : "to be mended");
  return good;
}

}  // namespace

int main() {
  const bool first = show(means_first, 24, 256), mended = show(means_mended, 24, 256);
  return !first && mended ? 0 : 1;
}
