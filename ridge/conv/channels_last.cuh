// The copies of tensors to channels-last ones and back, between which a nested plan runs.
#pragma once
#include <ridge/conv/channels_last.hpp>
#include <ridge/conv/launch.cuh>
#include <ridge/core/divider.hpp>

namespace ridge::conv_detail {
namespace conversion {

// A tensor given by its strides, and its copy [pixels, channels], contiguous. Pixels are those of all images; or of
// filters, taps. Elements of the copy that the given tensor lacks are zeros.
struct CopyJob {
  void *given, *copied;
  std::int64_t of_image, of_channel, of_row, of_column;  // strides of the given tensor
  int images, channels;                                  // of the given tensor: the copy may have more
  int copied_channels;
  unsigned pixels;         // of the copy
  Divider plane, columns;  // pixels of an image, of a row; a plane that is one axis has columns of 1, all in rows
  unsigned blocks;         // threads' pieces, or tiles
  unsigned pieces;         // 0: tiles are transposed; else a thread has a piece of the copy
  bool by_elements;        // a piece is an element; else 16 bytes
  bool by_pixels;          // neighbouring threads have neighbouring pixels; else neighbouring pieces of a pixel
  bool by_vectors;         // the given tensor is whole vectors too
  Divider inner;           // by_pixels: pixels; else pieces of a pixel; of tiles: tiles along the pixels
};
inline constexpr int most_jobs = 4;  // y, w, residual and bias, or x in place of y
struct CopyJobs {
  CopyJob job[most_jobs];
  int count = 0;
};

// Where a pixel begins in the given tensor, and whether it is there.
struct GivenPixel {
  std::int64_t offset;
  bool exists;
};
__device__ __forceinline__ GivenPixel given_pixel(const CopyJob& job, unsigned pixel) {
  unsigned column = pixel;
  const unsigned image = job.plane.divide(column), row = job.columns.divide(column);
  return {image * job.of_image + row * job.of_row + column * job.of_column, static_cast<int>(image) < job.images};
}

// A piece of N elements of the copy's channels.
template <class T, int N, bool Output> __device__ __forceinline__ void copy_piece(const CopyJob& job, unsigned index) {
  unsigned piece, pixel;
  if (job.by_pixels) {
    pixel = index;
    piece = job.inner.divide(pixel);
  } else {
    piece = index;
    pixel = job.inner.divide(piece);
  }
  const GivenPixel at = given_pixel(job, pixel);
  const int first = static_cast<int>(piece) * N;
  T* const given = static_cast<T*>(job.given) + at.offset;
  T* const copied = static_cast<T*>(job.copied) + std::int64_t{pixel} * job.copied_channels + first;
  if (job.by_vectors) {
    if (at.exists && Output) simt::store(given + first, simt::load<N>(copied));
    if constexpr (!Output) simt::store(copied, at.exists ? simt::load<N>(given + first) : simt::vec<T, N>{});
    return;
  }
  simt::vec<T, N> values;
  if constexpr (Output) values = simt::load<N>(copied);
  RIDGE_UNROLL_ON_GPU
  for (int v = 0; v < N; ++v) {
    const bool exists = at.exists && first + v < job.channels;
    T* const element = given + (first + v) * job.of_channel;
    if constexpr (!Output) values[v] = exists ? *element : T(0.0f);
    else if (exists) *element = values[v];
  }
  if constexpr (!Output) simt::store(copied, values);
}

// A tile of copy_pixels pixels and a line of channels, through shared memory: lanes are neighbouring pixels of a
// channel in the given tensor, and neighbouring vectors of a pixel in the copy.
template <class T, bool Output> __device__ __forceinline__ void transpose_tile(const CopyJob& job, unsigned block) {
  constexpr int V = 16 / sizeof(T), channels = copy_line / sizeof(T), vectors = copy_line / 16;
  constexpr int pitch = copy_pixels + 4 / int{sizeof(T)};  // rows are padded by one bank
  // So many vectors of a pixel in neighbouring lanes, that a warp's elements of one channel of these are in all banks.
  constexpr int lanes = 2 * int{sizeof(T)};
  // [channels][pitch], as bytes: g++ guards the first use of a class's array, and threads would meet at the guard.
  __shared__ __align__(16) unsigned char bytes[channels * pitch * sizeof(T)];
  T* const tile = reinterpret_cast<T*>(bytes);
  const unsigned line = job.inner.divide(block);  // block: the pixels' tile
  const unsigned first_pixel = block * copy_pixels;
  const int first = static_cast<int>(line) * channels, thread = static_cast<int>(threadIdx.x);

  const auto each_given = [&](auto&& move) {  // (element in the given tensor, place in the tile, whether it exists)
    constexpr int channel_stride = copy_threads / copy_pixels;
    const int pixel = thread % copy_pixels, channel = thread / copy_pixels;
    const bool inside = first_pixel + pixel < job.pixels;
    const GivenPixel at = given_pixel(job, inside ? first_pixel + pixel : 0);
    const int left = inside && at.exists ? job.channels - first - channel : 0;  // from this thread's first on
    T* given = static_cast<T*>(job.given) + at.offset + (first + channel) * job.of_channel;
    RIDGE_UNROLL_ON_GPU
    for (int c = 0; c < channels; c += channel_stride, given += channel_stride * job.of_channel)
      move(given, tile + (channel + c) * pitch + pixel, c < left);
  };
  const auto each_vector = [&](auto&& move) {  // (vector in the copy, its first element's place in the tile)
    RIDGE_UNROLL_ON_GPU
    for (int i = 0; i < copy_pixels * vectors; i += copy_threads) {
      const int index = i + thread;
      const int pixel = index / lanes % copy_pixels;
      const int c = (index % lanes + index / (lanes * copy_pixels) * lanes) * V;
      if (first_pixel + pixel < job.pixels && first + c < job.copied_channels)
        move(static_cast<T*>(job.copied) + std::int64_t{first_pixel + pixel} * job.copied_channels + first + c,
             tile + c * pitch + pixel);
    }
  };
  if constexpr (Output) {
    each_vector([](const T* copied, T* place) {
      const auto values = simt::load<V>(copied);
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) place[v * pitch] = values[v];
    });
    __syncthreads();
    each_given([](T* given, const T* place, bool exists) {
      if (exists) *given = *place;
    });
  } else {
    each_given([](const T* given, T* place, bool exists) { *place = exists ? *given : T(0.0f); });
    __syncthreads();
    each_vector([](T* copied, const T* place) {
      simt::vec<T, V> values;
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) values[v] = place[v * pitch];
      simt::store(copied, values);
    });
  }
}

//                          given: [images, channels, rows, columns] by strides   copied: [pixels, copied_channels]
// Copies of inputs, or of outputs back, one job after the other.
// Preconditions: gridDim.x is all jobs' blocks; `copied` is aligned to 16 bytes, and its pixels are whole vectors, but
// where pieces are elements; with by_vectors so are the given tensor's.
template <class T, bool Output>
__global__ void __launch_bounds__(copy_threads) copy_channels_last(const __grid_constant__ CopyJobs jobs) {
  unsigned block = blockIdx.x;
  int j = 0;
  while (block >= jobs.job[j].blocks) block -= jobs.job[j++].blocks;
  const CopyJob& job = jobs.job[j];
  if (job.pieces == 0) return transpose_tile<T, Output>(job, block);
  const unsigned index = block * copy_threads + threadIdx.x;
  if (index >= job.pieces) return;
  if (job.by_elements) copy_piece<T, 1, Output>(job, index);
  else copy_piece<T, 16 / sizeof(T), Output>(job, index);
}

// ---- launch

template <class T> static CopyJob job_of(const Copy& copy, void* given, void* copied) {
  constexpr std::int64_t V = 16 / sizeof(T), few_vectors = 2;  // fewer would leave most of a tile empty
  const Layout &from = copy.given, &to = copy.copied;
  const std::int64_t channels = to.shape[1], rows = to.shape[2], columns = to.shape[3];
  const std::int64_t pixels = to.shape[0] * rows * columns;
  const bool one_axis = rows == 1 || from.stride[2] == columns * from.stride[3];
  CopyJob job{.given = given,
              .copied = copied,
              .of_image = from.stride[0],
              .of_channel = from.stride[1],
              .of_row = one_axis ? from.stride[3] : from.stride[2],
              .of_column = one_axis ? 0 : from.stride[3],
              .images = whole(from.shape[0]),
              .channels = whole(from.shape[1]),
              .copied_channels = whole(channels),
              .pixels = static_cast<unsigned>(pixels),
              .plane = Divider(rows * columns),
              .columns = Divider(one_axis ? 1 : columns),
              .blocks = 0,
              .pieces = 0,
              .by_elements = channels % V != 0,
              .by_pixels = from.stride[1] != 1,
              .by_vectors = false,
              .inner = {}};
  const bool tiles = job.by_pixels && !job.by_elements && channels > few_vectors * V;
  if (tiles) {
    const std::int64_t along = ceil_div(pixels, copy_pixels);
    job.inner = Divider(along);
    job.blocks = static_cast<unsigned>(along * ceil_div(channels * static_cast<std::int64_t>(sizeof(T)), copy_line));
    return job;
  }
  const std::int64_t of_pixel = job.by_elements ? channels : channels / V;
  job.inner = Divider(job.by_pixels ? pixels : of_pixel);
  job.pieces = static_cast<unsigned>(pixels * of_pixel);
  job.blocks = (job.pieces + copy_threads - 1) / copy_threads;
  const auto whole_vectors = [&](int axis) { return from.shape[axis] <= 1 || from.stride[axis] % V == 0; };
  job.by_vectors = !job.by_pixels && !job.by_elements && from.shape[1] == channels && whole_vectors(0) &&
                   whole_vectors(2) && whole_vectors(3) && reinterpret_cast<std::uintptr_t>(given) % 16 == 0;
  return job;
}

// Copies, runs the nested plan, and copies back.
template <class T> static Status launch(const Arguments& args) {
  const ConvPlan& plan = args.plan;
  const Conversion to = conversion_of(plan.problem);
  char* const workspace = static_cast<char*>(args.workspace);
  const auto place = [&](Operand of, auto* given) -> decltype(given) {
    const auto at = to.place_of(of);
    return at ? workspace + *at : given;
  };
  const auto given = [&](Operand of) -> void* {
    switch (of) {
      case Operand::x: return const_cast<void*>(args.x);
      case Operand::w: return const_cast<void*>(args.w);
      case Operand::y: return plan.problem.backward ? const_cast<void*>(args.dy) : args.y;
      case Operand::dx: return args.dx;
      case Operand::dw: return args.dw;
      case Operand::bias: return const_cast<void*>(args.bias);
      default: return const_cast<void*>(args.residual);
    }
  };
  const auto copy = [&](auto is_output) -> Status {
    CopyJobs jobs{};
    unsigned blocks = 0;
    for (const Copy& tensor : to.all()) {
      if (tensor.is_output != is_output) continue;
      jobs.job[jobs.count] = job_of<T>(tensor, given(tensor.of), workspace + tensor.at);
      blocks += jobs.job[jobs.count++].blocks;
    }
    if (blocks == 0) return {};
    return simt::launch(launch_config(args, copy_threads, blocks), copy_channels_last<T, is_output>, jobs);
  };
  RIDGE_TRY(copy(std::false_type{}));
  const bool backward = plan.problem.backward;
  RIDGE_TRY(launch_plan({.plan = plan.nested[0],
                         .x = place(Operand::x, args.x),
                         .w = place(Operand::w, args.w),
                         .bias = place(Operand::bias, args.bias),
                         .residual = place(Operand::residual, args.residual),
                         .dy = backward ? place(Operand::y, args.dy) : nullptr,
                         .y = backward ? nullptr : place(Operand::y, args.y),
                         .dx = place(Operand::dx, args.dx),
                         .dw = place(Operand::dw, args.dw),
                         .workspace = workspace + to.bytes,
                         .stream = args.stream}));
  return copy(std::true_type{});
}

}  // namespace conversion
}  // namespace ridge::conv_detail
