// The textbook's transpositions of ridge/transpose by themselves: ridge lab docs/learn/kernels/transpose.cu --trace
#include <ridge/transpose/textbook.cuh>

#include "row.hpp"

using namespace ridge::transpose_detail;

int main() {
  constexpr int n = 256, across = n / 32, squares = across * across, bytes = 32 * 33 * sizeof(float);
  const Memory<float> x(n * n), y(n * n);
  const Tiles strips{n / 8, across, 1}, tiles{across, across, 1};
  Form form;
  form.kind = Kind::matrices, form.rows = form.cols = form.pitch_x = form.pitch_y = n;
  transpose_naive<Row<variants, "naive">><<<4 * squares, 256>>>(x.data, y.data, form, strips);
  transpose_square<Row<variants, "shared">><<<squares, 1024, bytes>>>(x.data, y.data, form, tiles);
  transpose_square<Row<variants, "padded">><<<squares, 1024, bytes>>>(x.data, y.data, form, tiles);
  transpose_square<Row<variants, "swizzled">><<<squares, 1024, bytes>>>(x.data, y.data, form, tiles);
  transpose_square<Row<variants, "ilp">><<<squares, 256, bytes>>>(x.data, y.data, form, tiles);
  cudaDeviceSynchronize();
}
