// The first kernels of ridge/conv by themselves: ridge lab docs/learn/kernels/conv.cu --trace
#include <ridge/conv/coarse.cuh>
#include <ridge/conv/direct.cuh>
#include <ridge/conv/naive.cuh>

#include "row.hpp"

using namespace ridge::conv_detail;

int main() {
  constexpr int channels = 3, filters = 3, side = 128, taps = 3, out = side - taps + 1;  // an image of side x side
  const Memory<float> x(channels * side * side), w(filters * channels * taps * taps), y(filters * out * out);
  const Axis axis{.inputs = side, .outputs = out, .taps = taps};
  const StridedShape shape{.images = 1,
                           .channels = channels,
                           .filters = filters,
                           .groups = 1,
                           .h = axis,
                           .w = axis,
                           .x = {channels * side * side, side * side, side, 1},
                           .y = {filters * out * out, out * out, out, 1},
                           .f = {channels * taps * taps, taps * taps, taps, 1}};
  conv_naive<Row<variants, "naive">, float, Pass::output>
      <<<(filters * out * out + 255) / 256, 256>>>(x.data, w.data, nullptr, y.data, shape, Epilogue<float>{}, false);
  const unsigned across = (out + 7) / 8, down = (out + 3) / 4, items = filters * across * down;
  conv_coarse<Row<variants, "tile_8x4">, float>
      <<<(items + 127) / 128, 128>>>(x.data, w.data, y.data, shape, Epilogue<float>{}, ridge::Divider(across),
                                     ridge::Divider(down), ridge::Divider(filters), items);
  cudaDeviceSynchronize();
}
