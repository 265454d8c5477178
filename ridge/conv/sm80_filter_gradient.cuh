// The gradient of few channels' filters by mma.sync (sm80_filter_gradient.hpp).
#pragma once
#include <ridge/conv/pixels.cuh>
#include <ridge/conv/sm80_filter_gradient.hpp>
#include <ridge/conv/sm80_grouped.cuh>

namespace ridge::conv_detail {

struct FewFilterShape {
  TileShape tiles;
  int group;                              // channels of one, as many as filters; 0: there is one group
  int bundle, bundle_filters;             // that exist of a bundle
  int channels, filters, group_channels;  // of all groups; and the channels of dw
  int next_channel, next_filter;          // from bundle to bundle
  int bundles, width, width_filters, pixel_bytes, dy_bytes;
  int units, chunks, units_of_warp, taps;
  Divider of_tap, of_tap_row, of_channels, of_filters;  // units: taps; taps of a row; sixteens of channels, of filters
  std::int64_t x[4] = {}, dy[4] = {};
};

// One of the units: 16 filters and 16 channels of a tap, in a bundle. Units of the same filters follow one another.
struct UnitPlace {
  int tap, a, b, channel, filter, bundle;
  __device__ __forceinline__ UnitPlace(const FewFilterShape& p, int unit) {
    unsigned rest = static_cast<unsigned>(unit), channels = p.of_tap.divide(rest),
             filters = p.of_channels.divide(channels);
    tap = static_cast<int>(rest);
    a = static_cast<int>(p.of_tap_row.divide(rest));
    b = static_cast<int>(rest);
    bundle = static_cast<int>(p.of_filters.divide(filters));
    channel = static_cast<int>(channels) * 16;
    filter = static_cast<int>(filters) * 16;
  }
};

// Copies a tile of dy: [pixels][bundles][width_filters], with zeros for what does not exist.
template <class T>
__device__ __forceinline__ void stage_outputs(unsigned char* to, const T* dy, const FewFilterShape& p,
                                              const TilePlace& place, int first_bundle, int threads) {
  constexpr int piece = 8;
  const int pieces = p.bundles * p.width_filters / piece;
  RIDGE_KEEP_LOOP
  for (int i = static_cast<int>(threadIdx.x); i < BundleShape::tile_pixels * pieces; i += threads) {
    const int pixel = i / pieces, line = i % pieces * piece, bundle = line / p.width_filters,
              k = line % p.width_filters;
    const int filter = (first_bundle + bundle) * p.next_filter + k;
    const TilePlace::Output of = place.output(p.tiles, pixel);
    const bool there = of.exists && k < p.bundle_filters && filter < p.filters;
    const T* from = dy + (there ? of.n * p.dy[0] + of.i * p.dy[2] + of.j * p.dy[3] + filter : 0);
    tile::copy_async<16>(to + pixel * p.dy_bytes + line * int{sizeof(T)}, from, there ? 16 : 0);
  }
}

// partial[part][filter][tap][channel] = the sums over the tiles of a part of dy times x
//                                                       x: [n, h, w, c]  dy: [n, oh, ow, k]
//
// Block (b, v) has the tiles b, b + gridDim.x ...; v has bundles, and a chunk of the units, which are 16 filters by 16
// channels of a tap. Pixels are summed over: both operands are contiguous across the sum. Pixels of a tile outside of
// the image are zeros in both, as an infinity in x is at no place of theirs.
// Preconditions: fits(); gridDim.y is columns * chunks; the dynamic shared memory is few_gradient::smem_bytes().
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    conv_few_filter_gradient(const T* x, const T* dy, float* partial, const __grid_constant__ FewFilterShape p) {
  if constexpr (tile::sm80::available) {
    namespace sm80 = tile::sm80;
    constexpr int threads = Policy::config.threads, U = few_gradient::warp_units, pixels = BundleShape::tile_pixels;
    static_assert(threads == 32 * few_gradient::warps);
    unsigned char* const outputs = simt::dynamic_shared<unsigned char>();  // [pixels][bundles][filters]
    unsigned char* const inputs = outputs + pixels * p.dy_bytes;           // [in_rows][in_columns][bundles][width]
    __shared__ unsigned pairs[pixels / 2];                                 // of pixels: ones where these exist
    static_assert(sizeof pairs == few_gradient::mask_bytes);
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int column = static_cast<int>(blockIdx.y) / p.chunks, chunk = static_cast<int>(blockIdx.y) % p.chunks;
    const int first_bundle = column * p.bundles;

    // ---- this warp's units: where fragments of 16 filters begin in a pixel of dy, and of 16 channels at a tap in x
    const int first_unit = ::min((chunk * few_gradient::warps + static_cast<int>(warp)) * p.units_of_warp, p.units - 1);
    const int count = ::max(
        0, ::min(p.units_of_warp, p.units - (chunk * few_gradient::warps + static_cast<int>(warp)) * p.units_of_warp));
    const sm80::At at = sm80::matrix_row_at(sm80::Axis::outer, lane);
    unsigned from_dy[U], from_x[U];
#pragma unroll
    for (int u = 0; u < U; ++u) {
      const UnitPlace unit(p, first_unit + (u < count ? u : 0));
      from_dy[u] = static_cast<unsigned>((unit.bundle * p.width_filters + unit.filter) * int{sizeof(T)});
      from_x[u] = static_cast<unsigned>(
          (unit.a * p.tiles.dilation_h * p.tiles.in_columns + unit.b * p.tiles.dilation_w) * p.pixel_bytes +
          (unit.bundle * p.width + unit.channel) * int{sizeof(T)});
    }
    float sums[U][2][4] = {};

    RIDGE_KEEP_LOOP
    for (unsigned tile = blockIdx.x; tile < p.tiles.count; tile += gridDim.x) {
      const TilePlace place(p.tiles, tile);
      __syncthreads();  // the last tile has been read
      stage_inputs(
          inputs, x, p.x, p.tiles, place,
          {p.bundles, p.width, p.bundle, first_bundle * p.next_channel, p.next_channel, p.channels, p.pixel_bytes},
          threads);
      stage_outputs(outputs, dy, p, place, first_bundle, threads);
      for (int pair = static_cast<int>(threadIdx.x); pair < pixels / 2; pair += threads)
        pairs[pair] = (place.output(p.tiles, 2 * pair).exists ? 0xffffu : 0u) |
                      (place.output(p.tiles, 2 * pair + 1).exists ? 0xffff0000u : 0u);
      tile::wait_for_copies();
      __syncthreads();

      RIDGE_KEEP_LOOP
      for (int step = 0; step < pixels / 16; ++step) {
        const int pixel = step * 16 + static_cast<int>(at.k);
        const unsigned dy_at = sm80::shared_address(outputs + pixel * p.dy_bytes) + at.outer * unsigned{sizeof(T)};
        const unsigned x_at =
            sm80::shared_address(inputs + p.tiles.input_of(pixel) * p.pixel_bytes) + at.outer * unsigned{sizeof(T)};
        const unsigned low = pairs[step * 8 + static_cast<int>(lane % 4)],
                       high = pairs[step * 8 + 4 + static_cast<int>(lane % 4)];
        unsigned filters[4];
#pragma unroll
        for (int u = 0; u < U; ++u) {
          if (u >= count) continue;
          if (u == 0 || from_dy[u] != from_dy[u > 0 ? u - 1 : 0])
            sm80::load_matrices<true>(filters, dy_at + from_dy[u]);
          unsigned channels[4];
          sm80::load_matrices<true>(channels, x_at + from_x[u]);
          channels[0] &= low, channels[1] &= low, channels[2] &= high, channels[3] &= high;
          sm80::multiply<T>(sums[u][0], filters, channels, 0);
          sm80::multiply<T>(sums[u][1], filters, channels, 1);
        }
      }
    }

    // ---- store
#pragma unroll
    for (int u = 0; u < U; ++u) {
      if (u >= count) continue;
      const UnitPlace unit(p, first_unit + u);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const sm80::Place place = sm80::sum_at(lane, static_cast<unsigned>(i % 4));
        const int f = unit.filter + static_cast<int>(place.row),
                  c = unit.channel + i / 4 * 8 + static_cast<int>(place.col);
        const int filter = (first_bundle + unit.bundle) * p.next_filter + f;
        const bool of_one_group = p.group == 0 || f / p.group == c / p.group;
        if (f >= p.bundle_filters || filter >= p.filters || c >= p.bundle || !of_one_group) continue;
        const int channel = p.group == 0 ? c : c % p.group;
        partial[((std::int64_t{blockIdx.x} * p.filters + filter) * p.taps + unit.tap) * p.group_channels + channel] =
            sums[u][i / 4][i % 4];
      }
    }
  }
}

// ---- launch

namespace few_gradient {

template <class Policy, class T> [[nodiscard]] static Status launch(const Arguments& args, const simt::Config& row) {
  const ConvProblem& p = args.plan.problem;
  const Sums sums = sums_of(p);
  const bool one_group = p.geometry.groups == 1;
  const std::int64_t blocks = sums.columns * sums.chunks, taps = taps_of(p), channels = channels_of_group(p);
  FewFilterShape s{.tiles = grouped_mma::tile_shape(p, best_grouped_tiles(p)),
                   .group = one_group ? 0 : whole(channels),
                   .bundle = whole(sums.bundle),
                   .bundle_filters = whole(sums.bundle_filters),
                   .channels = whole(p.x.shape[1]),
                   .filters = whole(p.w.shape[0]),
                   .group_channels = whole(channels),
                   .next_channel = one_group ? 0 : whole(sums.bundle),
                   .next_filter = whole(sums.bundle_filters),
                   .bundles = sums.bundles,
                   .width = sums.width,
                   .width_filters = sums.filters,
                   .pixel_bytes = sums.pixel_bytes(),
                   .dy_bytes = sums.dy_bytes(),
                   .units = whole(sums.units),
                   .chunks = whole(sums.chunks),
                   .units_of_warp = whole(ceil_div(sums.units, sums.chunks * warps)),
                   .taps = whole(taps),
                   .of_tap = Divider(taps),
                   .of_tap_row = Divider(p.w.shape[3]),
                   .of_channels = Divider(sums.width / 16),
                   .of_filters = Divider(sums.filters / 16)};
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.dy);
  simt::Config at = row;
  at.grid = dim3(at.grid.x / static_cast<unsigned>(blocks), static_cast<unsigned>(blocks));
  float* const partial = static_cast<float*>(args.workspace);
  RIDGE_TRY(simt::launch(at, conv_few_filter_gradient<Policy, T>, static_cast<const T*>(args.x),
                         static_cast<const T*>(args.dy), partial, s));
  const AxisMap h = axis_h(p).forward(), w = axis_w(p).forward();
  const Layout& dw = *p.dw;
  const Taps order = taps_of<true>(h, w, p.x, dw, channels, dw.stride[1]);
  constexpr int threads = Policy::config.threads;
  return simt::launch(launch_config(args, threads, ceil_div(p.w.count(), threads)),
                      conv_add_parts<Policy, T, true, false>, static_cast<const float*>(partial),
                      static_cast<T*>(args.dw), static_cast<int>(at.grid.x), p.w.shape[0], whole(taps * channels),
                      order, dw.stride[0]);
}

}  // namespace few_gradient
}  // namespace ridge::conv_detail
