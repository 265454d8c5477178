// A kernel of one's own under the trace: the mean of each column of a matrix, as it is first written, and mended.
//
// The program is linked with ridge::trace; that is all (CMakeLists.txt). README.md shows what it prints.
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
// A block takes 32 columns. Three things are wrong with it: neighbouring threads read a row apart; the sums lie
// column by column, 32 of them in one bank; and where rows are few, some of them were never written.
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

// The same; neighbouring threads read neighbouring columns, and every sum is written.
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
  const auto aligned = [](int count) {  // as cudaMalloc does
    return std::unique_ptr<float, void (*)(void*)>(static_cast<float*>(std::aligned_alloc(256, sizeof(float) * count)),
                                                   std::free);
  };
  const auto x = aligned(rows * cols), means = aligned(cols);
  for (int i = 0; i < rows * cols; ++i) x.get()[i] = static_cast<float>(i % cols);
  const auto report = simt::trace::record([&] {
    return simt::launch({.grid = dim3(cols / tile), .block = dim3(tile, tile)}, kernel, x.get(), means.get(), rows,
                        cols);
  });
  if (!report) {  // a kernel that breaks a rule: which thread, and where
    std::printf("%s\n", std::string(report.error().message()).c_str());
    return false;
  }
  std::fputs(report->text().c_str(), stdout);
  // What a test would hold.
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
