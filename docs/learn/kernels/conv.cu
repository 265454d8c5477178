// The first kernels of ridge/conv by themselves: ridge lab docs/learn/kernels/conv.cu --trace
#include <ridge/conv/coarse.cuh>
#include <ridge/conv/direct.cuh>
#include <ridge/conv/halo.cuh>
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
  conv_naive<Row<variants, "naive">, float, Pass::output, false>
      <<<(filters * out * out + 255) / 256, 256>>>(x.data, w.data, nullptr, y.data, shape, Epilogue<float>{}, false);
  const unsigned across = (out + 7) / 8, down = (out + 3) / 4, items = filters * across * down;
  conv_coarse<Row<variants, "tile_8x4">, float>
      <<<(items + 127) / 128, 128>>>(x.data, w.data, y.data, shape, Epilogue<float>{}, ridge::Divider(across),
                                     ridge::Divider(down), ridge::Divider(filters), items);
  constexpr Config one = Row<variants, "halo_8x4">::config, two = Row<variants, "prefetch_8x4">::config;
  const unsigned tiles_w = (out + halo_columns - 1) / halo_columns,
                 tiles_h = (out + halo_rows(one) - 1) / halo_rows(one);
  const HaloShape tile{.channels = channels,
                       .h = side,
                       .w = side,
                       .oh = out,
                       .ow = out,
                       .r = taps,
                       .s = taps,
                       .input_rows = static_cast<int>(halo_input_rows(one, taps)),
                       .pitch = static_cast<int>(halo_pitch(taps)),
                       .tap_pitch = static_cast<int>(halo_tap_pitch(taps)),
                       .stage_floats = static_cast<int>(halo_stage_bytes(one, taps, taps)) / 4,
                       .filters = ridge::Divider(filters),
                       .filters_of_group = ridge::Divider(filters),
                       .tiles_w = ridge::Divider(tiles_w),
                       .tiles_h = ridge::Divider(tiles_h),
                       .x = {channels * side * side, side * side, side, 1},
                       .y = {filters * out * out, out * out, out, 1},
                       .f = {channels * taps * taps, taps * taps, taps, 1},
                       .vectors = true};
  conv_halo<Row<variants, "halo_8x4">><<<filters * tiles_w * tiles_h, 128, halo_smem_bytes(one, taps, taps)>>>(
      x.data, w.data, y.data, tile, Epilogue<float>{});
  conv_halo<Row<variants, "prefetch_8x4">><<<filters * tiles_w * tiles_h, 128, halo_smem_bytes(two, taps, taps)>>>(
      x.data, w.data, y.data, tile, Epilogue<float>{});
  cudaDeviceSynchronize();
}
