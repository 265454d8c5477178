// The textbook's steps of ridge/softmax by themselves: ridge lab docs/learn/kernels/softmax.cu --trace
#include <ridge/softmax/resident.cuh>
#include <ridge/softmax/streaming.cuh>
#include <ridge/softmax/vector.cuh>

#include "row.hpp"

using namespace ridge;
using namespace ridge::softmax_detail;

int main() {
  constexpr int rows = 128, cols = 4096;
  const Memory<float> x(rows * cols), y(rows * cols);
  RowOffsets offsets;  // rows one after the other
  offsets.rank = 1, offsets.shape[0] = rows, offsets.stride[0] = cols;
  softmax_naive<Row<variants, "naive">><<<1, 128>>>(x.data, y.data, rows, cols, cols, cols, false);
  softmax_three_pass<Row<variants, "block_reduce">, float, 32><<<rows, 256>>>(x.data, y.data, cols, cols, cols, false);
  softmax_online<Row<variants, "online">, float, 32>
      <<<rows, 256>>>(x.data, y.data, cols, offsets, offsets, 1, 1, false);
  softmax_vector<Row<variants, "vec4">, float, 32><<<rows, 512>>>(x.data, y.data, cols, cols, cols, false);
  softmax_resident<Row<variants, "block_1k">, float, 32>
      <<<rows, 128>>>(x.data, y.data, rows, cols, cols, cols, 0, false);
  cudaDeviceSynchronize();
}
