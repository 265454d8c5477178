// The copies of images and filters that TMA cannot read in place (sm90_image.hpp).
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/conv/sm90_image.hpp>
#include <ridge/core/divider.hpp>

namespace ridge::conv_detail {

inline constexpr int copy_image_threads = 256;
// A tile of a transposing copy: a block reads so many pixels of each of its channels, which are a line of 128 bytes.
inline constexpr int transpose_pixels = 64, transpose_line = 128;

// A copy of [n, c, h, w] by its strides into a CopyShape; pixel (0, 0) of the copy is (-top, -left).
struct ImageCopy {
  const void* from;
  void* to;
  std::int64_t strides[4];  // of n, c, h, w
  int channels, height, width, top, left;
  int copied_channels;
  bool transposes;        // planes are one axis of pixels, w: blocks transpose tiles through shared memory
  unsigned vectors;       // of 16 bytes, in the whole copy; if it transposes, blocks
  int row_vectors;        // of a row of the copy
  bool by_pixels;         // a pixel is whole vectors, and neighbouring threads have neighbouring pixels; else vectors
  Divider columns, rows;  // by_pixels: pixels of a row; else vectors of a row. rows: of an image
  Divider of_pixel;       // by_pixels: vectors of a pixel; else copied_channels
};
struct ImageCopies {
  ImageCopy job[2];
  unsigned blocks = 0;  // of the first
};

// Copies one vector, with zeros outside of the source.
template <class T> __device__ __forceinline__ void copy_vector(const ImageCopy& job, unsigned index) {
  constexpr int V = 16 / sizeof(T);
  unsigned vector = index, line, column, channel;  // line: a row, counted over all images
  if (job.by_pixels) {
    column = index;
    unsigned part = job.columns.divide(column);
    line = job.of_pixel.divide(part);
    vector = line * job.row_vectors + column * (job.copied_channels / V) + part;
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
  simt::store(static_cast<T*>(job.to) + std::int64_t{vector} * V, values);
}

// Transposes a line of channels of transpose_pixels pixels. from: [n][channels][width] to: [n][width][copied_channels]
template <class T> __device__ __forceinline__ void transpose_image(const ImageCopy& job, unsigned block) {
  constexpr int V = 16 / sizeof(T), channels = transpose_line / sizeof(T), line_vectors = transpose_line / 16;
  constexpr int pitch = transpose_pixels + 4 / sizeof(T);  // rows are padded by one bank
  // [channels][pitch], as bytes: g++ guards the first use of a class's array, and threads would meet at the guard.
  __shared__ __align__(16) unsigned char bytes[channels * pitch * sizeof(T)];
  T* const tile = reinterpret_cast<T*>(bytes);
  const unsigned line = job.columns.divide(block);  // block: the pixels' tile
  unsigned channel_tile = line;
  const unsigned n = job.rows.divide(channel_tile);
  const int first_pixel = static_cast<int>(block) * transpose_pixels, first = static_cast<int>(channel_tile) * channels;
  const int thread = static_cast<int>(threadIdx.x), pixel = thread % transpose_pixels;
  constexpr int channel_stride = copy_image_threads / transpose_pixels;
  const int left = job.channels - first - thread / transpose_pixels;  // of channels, from this thread's first
  const T* from = static_cast<const T*>(job.from) + n * job.strides[0] +
                  (first + thread / transpose_pixels) * job.strides[1] + (first_pixel + pixel) * job.strides[3];
  const bool inside = first_pixel + pixel < job.width;
  RIDGE_UNROLL_ON_GPU
  for (int c = 0; c < channels; c += channel_stride, from += channel_stride * job.strides[1])
    tile[(thread / transpose_pixels + c) * pitch + pixel] = inside && c < left ? *from : T(0.0f);
  __syncthreads();
  const int c = thread % line_vectors * V;
  if (first + c >= job.copied_channels) return;
  T* to = static_cast<T*>(job.to) + std::int64_t{n} * job.width * job.copied_channels + first + c;
  RIDGE_UNROLL_ON_GPU
  for (int p = thread / line_vectors; p < transpose_pixels; p += copy_image_threads / line_vectors) {
    simt::vec<T, V> values;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) values[v] = tile[(c + v) * pitch + p];
    if (first_pixel + p < job.width) simt::store(to + std::int64_t{first_pixel + p} * job.copied_channels, values);
  }
}

// to = from, with zeros outside of it, for one job after the other.
// Preconditions: gridDim.x blocks, or copy_image_threads times as many threads, cover both jobs' vectors, below 2^28;
// `to` is aligned to 16 bytes.
template <class T>
__global__ void __launch_bounds__(copy_image_threads) copy_images(const __grid_constant__ ImageCopies jobs) {
  const bool first = blockIdx.x < jobs.blocks;
  const ImageCopy& job = jobs.job[first ? 0 : 1];
  const unsigned block = first ? blockIdx.x : blockIdx.x - jobs.blocks;
  if (job.transposes) return transpose_image<T>(job, block);
  const unsigned index = block * copy_image_threads + threadIdx.x;
  if (index < job.vectors) copy_vector<T>(job, index);
}

// ---- launch

// The copy of x or of the filters into `to`.
static inline ImageCopy copy_of(const CopyShape& to, const Layout& from, DType dtype, const void* data, void* copy,
                                std::int64_t top, std::int64_t left) {
  const std::int64_t V = vector_elements(dtype), row_vectors = to.row_pitch / V;
  const bool by_pixels = from.stride[1] != 1 && to.channels % V == 0;
  ImageCopy job{.from = data,
                .to = copy,
                .strides = {},
                .channels = whole(from.shape[1]),
                .height = whole(from.shape[2]),
                .width = whole(from.shape[3]),
                .top = whole(top),
                .left = whole(left),
                .copied_channels = whole(to.channels),
                .transposes = false,
                .vectors = static_cast<unsigned>(to.elements() / V),
                .row_vectors = whole(row_vectors),
                .by_pixels = by_pixels,
                .columns = Divider(by_pixels ? to.columns : row_vectors),
                .rows = Divider(to.rows),
                .of_pixel = Divider(by_pixels ? to.channels / V : to.channels)};
  std::copy_n(from.stride.begin(), 4, job.strides);
  return job;
}

// Makes the copy of x's own pixels transpose tiles, if planes are one axis and channels are strided.
static inline void transpose_by_tiles(ImageCopy& job, const Layout& x, DType dtype) {
  constexpr std::int64_t least_channels = 16;  // fewer leave most of a tile empty
  const bool one_axis = x.shape[2] == 1 || x.stride[2] == x.shape[3] * x.stride[3];
  if (!one_axis || x.stride[1] == 1 || x.shape[1] < least_channels) return;
  const std::int64_t pixels = x.shape[2] * x.shape[3], tiles = ceil_div(pixels, transpose_pixels);
  const std::int64_t lines = ceil_div(job.copied_channels, transpose_line / static_cast<std::int64_t>(size_of(dtype)));
  job.transposes = true;
  job.width = whole(pixels);
  job.vectors = static_cast<unsigned>(x.shape[0] * lines * tiles);
  job.columns = Divider(tiles);
  job.rows = Divider(lines);
}

// Launches the copies that the gathering needs, and points x and w to them.
template <class T>
[[nodiscard]] static Status launch_copies(const Arguments& args, const Gathering& g, const void*& x, const void*& w) {
  if (!g.copies_image && !g.copies_filters) return {};
  const ConvProblem& p = args.plan.problem;
  char* workspace = static_cast<char*>(args.workspace);
  ImageCopies jobs{};
  int count = 0;
  // The filters come first: they are few, and leave no tail then.
  if (g.copies_filters) {
    const Layout given = as_images(p.w, p.w);
    Layout filters = given;
    if (g.filters_across) {  // taps, with channels as pixels of `filters` contiguous elements
      constexpr int axes[] = {2, 0, 3, 1};
      for (int i = 0; i < 4; ++i) filters.shape[i] = given.shape[axes[i]], filters.stride[i] = given.stride[axes[i]];
    }
    jobs.job[count++] = copy_of(g.filters, filters, p.dtype, w, workspace + g.filters_at(), 0, 0);
    w = workspace + g.filters_at();
  }
  if (g.copies_image) {
    const ConvPad none{}, &pad = g.transposed ? none : p.geometry.pad;
    ImageCopy& job = jobs.job[count++] = copy_of(g.image, p.x, p.dtype, x, workspace, pad.top, pad.left);
    if (g.transposed) transpose_by_tiles(job, p.x, p.dtype);
    x = workspace;
  }
  unsigned blocks = 0;
  for (int i = 0; i < count; ++i) {
    const ImageCopy& job = jobs.job[i];
    if (i == 1) jobs.blocks = blocks;
    blocks += job.transposes ? job.vectors : (job.vectors + copy_image_threads - 1) / copy_image_threads;
  }
  if (count == 1) jobs.blocks = blocks;
  const simt::Config at{.grid = dim3(blocks), .block = dim3(copy_image_threads), .stream = args.stream.handle};
  return simt::launch(at, copy_images<T>, jobs);
}

}  // namespace ridge::conv_detail
