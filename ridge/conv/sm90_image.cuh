// What the rows on Hopper's tensor cores have of their own: the loader that gathers pixels for gemm's kernel
// (gemm/sm90_wgmma.cuh), and the copies of images and filters that start anywhere (sm90_image.hpp).
#pragma once
#include <ridge/conv/implicit.cuh>
#include <ridge/conv/sm90_image.hpp>
#include <ridge/gemm/sm90_wgmma.cuh>

namespace ridge::conv_detail {

// A: rows are pixels of y, and a step is 64 channels of x where one tap meets them. B:
// the filters' same tap and channels.
struct ImageLoader {
  tile::sm90::TensorMap image, filters;  // filters: [taps, k, channels]
  Divider columns, rows;                 // of a plane of y
  int channels, taps_w;
  int step_h, step_w, first_h, first_w, tap_h, tap_w;  // Walk
  int tap_n;                                           // images from a row of taps to the next: 1 of patches, else 0
  int first_channel;                                   // past the last where there is no product, but zeros
  TapOrder taps;                                       // of the filters' taps, as the walk meets them
  int taps_h;
  int step = 0, steps_of_tap = 0, slice_steps = 0;  // channels of a step; slices are a tile's `batch`

  struct Place {
    int n, h, w;                     // of the tile's first window
    int filter;                      // first of the tile
    int channel, tap;                // of the next step
    int offset_h = 0, offset_w = 0;  // of its tap
    int left, rows_left;             // taps of this row of taps, and rows of them
    int first_channel;               // of taps: past the last where there are no more of them
  };
  __device__ __forceinline__ void prefetch() const {
    tile::sm90::prefetch(&image);
    tile::sm90::prefetch(&filters);
  }
  __device__ __forceinline__ Place at(const gemm_kernels::WgmmaTile& tile) const {
    unsigned j = static_cast<unsigned>(tile.row), i = columns.divide(j);
    const unsigned n = rows.divide(i);
    Place to{.n = static_cast<int>(n),
             .h = static_cast<int>(i) * step_h + first_h,
             .w = static_cast<int>(j) * step_w + first_w,
             .filter = tile.col,
             .channel = first_channel,
             .tap = taps.first,
             .left = taps_w,
             .rows_left = taps_h,
             .first_channel = first_channel};
    if (tile.batch > 0) {
      const int first = tile.batch * slice_steps, tap = first / steps_of_tap, a = tap / taps_w, b = tap - a * taps_w;
      to.channel = (first - tap * steps_of_tap) * step;
      to.tap += a * (taps_w * taps.across + taps.down) + b * taps.across;
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
    tile::sm90::arrive_expecting(full, K::bytes_a + K::bytes_b);
    tile::sm90::load_image(&image, to_a, full, at.channel, at.w, at.h, at.n, at.offset_w, at.offset_h);
    if constexpr (K::axis_b == tile::sm90::Axis::k) {
      gemm_kernels::load_columns<K>(&filters, to_b, full, at.filter, at.channel, at.tap, rank);
    } else {  // filters are neighbours: lines of them, one for each channel
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
    at.offset_w = 0;
    at.offset_h += tap_h;
    at.n += tap_n;
    if (--at.rows_left > 0) return;
    // The last slice's further steps are zeros of both operands: whole steps beyond the last channel, on an address
    // that the engine takes of windows too, whose channels are not whole units.
    at.left = at.rows_left = 1;
    at.offset_h = 0;
    at.channel = at.first_channel = steps_of_tap * step;
  }
};

// ---- copies --------------------------------------------------------------------------------------------------------

inline constexpr int copy_image_threads = 256;
// Of a copy that turns: pixels that a block reads of each of its channels, which are a line of 128 bytes.
inline constexpr int turn_pixels = 64, turn_line = 128;

// Of [n, c, h, w] by its strides, into a CopyShape whose pixel (0, 0) is (-top, -left).
struct ImageCopy {
  const void* from;
  void* to;
  std::int64_t strides[4];  // of n, c, h, w
  int channels, height, width, top, left;
  int copied_channels;
  bool turns;             // planes are one axis of pixels, w's: blocks bring channels of pixels through shared memory
  unsigned units;         // of 16 bytes, of the whole copy; where it turns, blocks
  int row_units;          // of a row of it
  bool by_pixels;         // a pixel is whole units, and neighbouring threads have neighbouring pixels; else units
  Divider columns, rows;  // by_pixels: pixels of a row; else units of a row. Rows of an image
  Divider of_pixel;       // by_pixels: units of a pixel; else copied_channels
};
struct ImageCopies {
  ImageCopy job[2];
  unsigned blocks = 0;  // of the first
};

// One unit of a copy, and zeros outside of what is copied.
template <class T> __device__ __forceinline__ void copy_unit(const ImageCopy& job, unsigned index) {
  constexpr int V = 16 / sizeof(T);
  unsigned unit = index, line, column, channel;  // line: a row of all images'
  if (job.by_pixels) {
    column = index;
    unsigned part = job.columns.divide(column);
    line = job.of_pixel.divide(part);
    unit = line * job.row_units + column * (job.copied_channels / V) + part;
    channel = part * V;
  } else {
    unsigned part = index;
    line = job.columns.divide(part);
    channel = part * V;
    column = job.of_pixel.divide(channel);
  }
  unsigned row = line;
  const unsigned n = job.rows.divide(row);
  const int i = static_cast<int>(row) - job.top;
  int j = static_cast<int>(column) - job.left, c = static_cast<int>(channel);
  const T* from = static_cast<const T*>(job.from);  // null where x is empty
  const std::int64_t row_at = n * job.strides[0] + i * job.strides[2];
  simt::vec<T, V> values;
  RIDGE_UNROLL_ON_GPU
  for (int v = 0; v < V; ++v) {
    const bool there = c < job.channels && i >= 0 && i < job.height && j >= 0 && j < job.width;
    values[v] = there ? from[row_at + c * job.strides[1] + j * job.strides[3]] : T(0.0f);
    if (++c == job.copied_channels) c = 0, ++j;
  }
  simt::store(static_cast<T*>(job.to) + std::int64_t{unit} * V, values);
}

// A line of channels of turn_pixels pixels.          from: [n][channels][width]  to: [n][width][copied_channels]
template <class T> __device__ __forceinline__ void turn_image(const ImageCopy& job, unsigned block) {
  constexpr int V = 16 / sizeof(T), channels = turn_line / sizeof(T), line_units = turn_line / 16;
  constexpr int pitch = turn_pixels + 4 / sizeof(T);  // a bank more to a row
  // [channels][pitch], as bytes: g++ guards the first use of a class's array, and threads would meet at the guard.
  __shared__ __align__(16) unsigned char bytes[channels * pitch * sizeof(T)];
  T* const tile = reinterpret_cast<T*>(bytes);
  const unsigned line = job.columns.divide(block);  // block: the pixels' tile
  unsigned channel_tile = line;
  const unsigned n = job.rows.divide(channel_tile);
  const int first_pixel = static_cast<int>(block) * turn_pixels, first = static_cast<int>(channel_tile) * channels;
  const int thread = static_cast<int>(threadIdx.x), pixel = thread % turn_pixels;
  constexpr int pace = copy_image_threads / turn_pixels;
  const int left = job.channels - first - thread / turn_pixels;  // of channels, from this thread's first
  const T* from = static_cast<const T*>(job.from) + n * job.strides[0] +
                  (first + thread / turn_pixels) * job.strides[1] + (first_pixel + pixel) * job.strides[3];
  const bool inside = first_pixel + pixel < job.width;
  RIDGE_UNROLL_ON_GPU
  for (int c = 0; c < channels; c += pace, from += pace * job.strides[1])
    tile[(thread / turn_pixels + c) * pitch + pixel] = inside && c < left ? *from : T(0.0f);
  __syncthreads();
  const int c = thread % line_units * V;
  if (first + c >= job.copied_channels) return;
  T* to = static_cast<T*>(job.to) + std::int64_t{n} * job.width * job.copied_channels + first + c;
  RIDGE_UNROLL_ON_GPU
  for (int p = thread / line_units; p < turn_pixels; p += copy_image_threads / line_units) {
    simt::vec<T, V> values;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) values[v] = tile[(c + v) * pitch + p];
    if (first_pixel + p < job.width) simt::store(to + std::int64_t{first_pixel + p} * job.copied_channels, values);
  }
}

// to = from, and zeros outside of it, of one job after the other.
// Preconditions: gridDim.x blocks, or copy_image_threads times as many threads, cover both jobs' units, below 2^28;
// `to` is on 16 bytes.
template <class T>
__global__ void __launch_bounds__(copy_image_threads) copy_images(const __grid_constant__ ImageCopies jobs) {
  const bool first = blockIdx.x < jobs.blocks;
  const ImageCopy& job = jobs.job[first ? 0 : 1];
  const unsigned block = first ? blockIdx.x : blockIdx.x - jobs.blocks;
  if (job.turns) return turn_image<T>(job, block);
  const unsigned index = block * copy_image_threads + threadIdx.x;
  if (index < job.units) copy_unit<T>(job, index);
}

}  // namespace ridge::conv_detail
