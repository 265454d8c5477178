// The image loader: the producer of gemm's kernel (gemm/sm90_wgmma.cuh) and of the multiply-add kernel gathers pixels
// with it.
#pragma once
#include <ridge/conv/pixels.cuh>
#include <ridge/conv/sm90_image.hpp>
#include <ridge/gemm/sm90_wgmma.cuh>

namespace ridge::conv_detail {

// Volume: the axis more, of which an image has nothing.
template <bool Volume> struct LoaderDepth {};
template <> struct LoaderDepth<true> {
  Divider slices;              // of a volume of y
  int step, first, tap, taps;  // Walk
  int next_slice;              // Gathering
};
template <bool Volume> struct PlaceDepth {};
template <> struct PlaceDepth<true> {
  int d = 0, offset = 0, left = 0;  // of the first window; of the tap; slices of taps left
};

// A: rows are pixels of y, and a step is 64 channels of x at the position where one tap meets them. B: the same tap and
// channels of the filters.
template <bool Volume> struct ImageLoaderIn {
  tile::sm90::TensorMap image, filters;  // filters: [taps, k, channels]
  Divider columns, rows;                 // of a plane of y
  int channels, taps_w;
  int step_h, step_w, first_h, first_w, tap_h, tap_w;  // Walk
  int tap_n;                                           // images from a row of taps to the next: 1 for patches, else 0
  int first_channel;                                   // past the last where there is no product, only zeros
  TapOrder taps;                                       // the filters' taps in the order of the walk
  int taps_h;
  int step = 0, steps_of_tap = 0, slice_steps = 0;  // step: in channels; a tile's `batch` is its split-K slice
  LoaderDepth<Volume> depth = {};

  struct Place {
    int n, h, w;                     // of the tile's first window
    int filter;                      // the tile's first
    int channel, tap;                // of the next step
    int offset_h = 0, offset_w = 0;  // of its tap
    int first_offset_w = 0;          // of a row's first tap
    int left, rows_left;             // taps left in this row of taps, and rows left
    int first_channel;               // of each tap; past the last channel once no tap is left
    PlaceDepth<Volume> depth = {};
  };
  __device__ __forceinline__ void prefetch() const {
    tile::sm90::prefetch(&image);
    tile::sm90::prefetch(&filters);
  }
  __device__ __forceinline__ Place at(const gemm_kernels::WgmmaTile& tile) const {
    unsigned j = static_cast<unsigned>(tile.row), i = columns.divide(j);
    unsigned n = rows.divide(i);
    PlaceDepth<Volume> at_depth{};
    if constexpr (Volume) {
      unsigned l = n;
      n = depth.slices.divide(l);
      at_depth = {.d = static_cast<int>(l) * depth.step + depth.first, .offset = 0, .left = depth.taps};
    }
    Place to{.n = static_cast<int>(n),
             .h = static_cast<int>(i) * step_h + first_h,
             .w = static_cast<int>(j) * step_w + first_w,
             .filter = tile.col,
             .channel = first_channel,
             .tap = taps.first,
             .left = taps_w,
             .rows_left = taps_h,
             .first_channel = first_channel,
             .depth = at_depth};
    if (tile.batch > 0) {
      const int first = tile.batch * slice_steps, tap = first / steps_of_tap;
      int a = tap / taps_w;
      const int b = tap - a * taps_w;
      to.channel = (first - tap * steps_of_tap) * step;
      to.tap += a * (taps_w * taps.across + taps.down) + b * taps.across;
      if constexpr (Volume) {
        const int e = a / taps_h;
        a -= e * taps_h;
        to.tap += e * depth.next_slice;
        to.depth.offset = e * depth.tap;
        to.depth.left -= e;
      }
      to.offset_w = b * tap_w;
      to.offset_h = a * tap_h;
      to.n += a * tap_n;
      to.left -= b;
      to.rows_left -= a;
    }
    return to;
  }
  template <class K>
  __device__ __forceinline__ void load_next(Place& at, unsigned char* to_a, unsigned char* to_b,
                                            tile::sm90::Barrier* full, int rank) const {
    tile::sm90::arrive_and_expect_tx(full, K::bytes_a + K::bytes_b);
    if constexpr (Volume)
      tile::sm90::load_volume(&image, to_a, full, at.channel, at.w, at.h, at.depth.d, at.n, at.offset_w, at.offset_h,
                              at.depth.offset);
    else tile::sm90::load_image(&image, to_a, full, at.channel, at.w, at.h, at.n, at.offset_w, at.offset_h);
    if constexpr (K::axis_b == tile::sm90::Axis::k) {
      gemm_kernels::load_columns<K>(&filters, to_b, full, at.filter, at.channel, at.tap, rank);
    } else {  // filters are contiguous: lines of filters, one for each channel
      constexpr int line_filters = K::c.line / (K::bytes_b / (K::c.bn * K::c.bk));
      for (int f = 0; f < K::c.bn; f += line_filters)
        tile::sm90::load(&filters, to_b + f / line_filters * (K::c.bk * K::c.line), full, at.filter + f, at.channel,
                         at.tap);
    }
    if ((at.channel += K::c.bk) < channels) return;
    at.channel = at.first_channel;
    at.tap += taps.across;
    at.offset_w += tap_w;
    if (--at.left > 0) return;
    at.left = taps_w;
    at.tap += taps.down;
    at.offset_w = at.first_offset_w;
    at.offset_h += tap_h;
    at.n += tap_n;
    if (--at.rows_left > 0) return;
    if constexpr (Volume) {
      at.rows_left = taps_h;
      at.offset_h = 0;
      at.tap += depth.next_slice;
      at.depth.offset += depth.tap;
      if (--at.depth.left > 0) return;
      at.depth.offset = 0;
      at.depth.left = 1;
    }
    // The further steps of the last slice load zeros for both operands: whole steps past the last channel. TMA takes
    // such an address for windows too, whose channels are not whole vectors.
    at.left = at.rows_left = 1;
    at.offset_h = 0;
    at.channel = at.first_channel = steps_of_tap * step;
  }
};
using ImageLoader = ImageLoaderIn<false>;

// ---- launch

// x, w: the tensors or their copies, of type `element`; w is null where filters are not read. bm, box: pixels of a
// tile, and lines of filters in one TMA box.
template <bool Volume>
static Status make_loader(ImageLoaderIn<Volume>& loader, const ConvProblem& p, const Gathering& g, const void* x,
                          const void* w, tile::sm90::MapElement element, int bm, int box, int line) {
  namespace sm90 = tile::sm90;
  loader = {.image = {},
            .filters = {},
            .columns = Divider(p.y.shape[3]),
            .rows = Divider(g.patches ? g.h.pixels : p.y.shape[2]),
            .channels = whole(g.channels),
            .taps_w = whole(g.w.taps),
            .step_h = whole(g.h.step),
            .step_w = whole(g.w.step),
            .first_h = whole(g.h.first),
            .first_w = whole(g.w.first),
            .tap_h = whole(g.h.tap),
            .tap_w = whole(g.w.tap),
            .tap_n = g.patches ? 1 : 0,
            .first_channel = g.is_empty ? whole(g.channels) : 0,
            .taps = g.order,
            .taps_h = whole(g.h.taps)};
  if constexpr (Volume)
    loader.depth = {.slices = Divider(depth_of(p.y)),
                    .step = whole(g.d.step),
                    .first = whole(g.d.first),
                    .tap = whole(g.d.tap),
                    .taps = whole(g.d.taps),
                    .next_slice = g.next_slice};
  RIDGE_TRY(sm90::make_image_map(&loader.image, x, element,
                                 {.channels = g.channels,
                                  .w = {g.w.pixels, g.w.pitch},
                                  .h = {g.h.pixels, g.h.pitch},
                                  .n = {g.images, g.image_pitch},
                                  .first_w = whole(g.w.first),
                                  .first_h = whole(g.h.first),
                                  .beyond_w = whole(g.w.beyond),
                                  .beyond_h = whole(g.h.beyond),
                                  .step_w = whole(g.w.step),
                                  .step_h = whole(g.h.step),
                                  .volume = Volume,
                                  .d = {g.d.pixels, g.d.pitch},
                                  .first_d = whole(g.d.first),
                                  .beyond_d = whole(g.d.beyond),
                                  .step_d = whole(g.d.step)},
                                 bm, line));
  if (!w) return {};
  if (g.filters_across)
    return sm90::make_tensor_map(&loader.filters, w, element,
                                 {p.w.shape[0], g.channels, g.taps(), g.filter_pitch, g.tap_pitch}, box, line);
  const std::int64_t taps = g.filter_taps > 0 ? g.filter_taps : g.taps();
  return sm90::make_tensor_map(&loader.filters, w, element,
                               {g.channels, p.w.shape[0], taps, g.filter_pitch, g.tap_pitch}, box, line);
}

// Sets where the split-K slices of a product begin; step: channels of a tap.
template <bool Volume>
static void set_slices(ImageLoaderIn<Volume>& loader, const gemm_kernels::Shape& shape, int step) {
  loader.step = step;
  loader.steps_of_tap = whole(ceil_div(loader.channels, step));
  loader.slice_steps = whole(shape.slice_k);
}

}  // namespace ridge::conv_detail
