// The first steps of ridge/norm by themselves: ridge lab docs/learn/kernels/norm.cu --trace
#include <ridge/norm/even.cuh>
#include <ridge/norm/streaming.cuh>
#include <ridge/norm/vector.cuh>

#include "row.hpp"

using namespace ridge::norm_detail;

template <Name name> using Team = TeamOf<Row<variants, name>, 32>;

int main() {
  constexpr int rows = 128, cols = 4096;
  const Memory<float> x(rows * cols), y(rows * cols);
  ridge::RowOffsets offsets;  // rows one after the other
  offsets.rank = 1, offsets.shape[0] = rows, offsets.stride[0] = cols;
  Forward<float> a{};
  a.x = {x.data, offsets}, a.y = {y.data, offsets};
  a.rows = rows, a.cols = cols, a.eps = 1e-5f;
  norm_streaming<Team<"naive">><<<1, 128>>>(a, PlainSums{});
  norm_streaming<Team<"block_reduce">><<<rows, 256>>>(a, PlainSums{});
  norm_vector<Team<"vec4">><<<rows, 512>>>(a);
  norm_even<Row<variants, "even_1k">, Team<"even_1k">, float, false, false><<<rows, 128>>>(aligned(a));
  cudaDeviceSynchronize();
}
