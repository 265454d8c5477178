// Pixels and taps as the gathering kernels index them, and the output of their sums.
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/core/divider.hpp>
#include <ridge/gemm/thread_tile.cuh>

namespace ridge::conv_detail {

// A pixel or a tap: its offset in each operand, in elements, and its contribution to the position (i, j) in a plane,
// and l in a volume.
template <bool Volume> struct IndexIn { int dense, gathered, i, j; };
template <> struct IndexIn<true> { int dense, gathered, i, j, l; };
using Index = IndexIn<false>;
// Added to any position, it gives one outside of every plane: sides are below 2^30.
inline constexpr int outside = -(1 << 30);
template <bool Volume> __device__ __forceinline__ IndexIn<Volume> nowhere() {
  if constexpr (Volume) return {0, 0, outside, 0, 0};
  else return {0, 0, outside, 0};
}

// What pixels and taps have along the depth of a volume; of an image nothing.
template <bool Volume> struct PixelDepth {};
template <> struct PixelDepth<true> {
  Divider slices;  // of outputs
  int gathered, scale, shift, dense;
};
template <bool Volume> struct TapDepth {};
template <> struct TapDepth<true> {
  Divider outer;  // rows of a slice; or where channels come last in the count, slices
  int gathered, step, dense;
};

template <bool Volume> struct PixelsIn {
  Divider columns, rows;                          // of a plane of outputs
  int gathered_n, gathered_i, gathered_j, first;  // offsets of the gathered operand
  int scale_i, scale_j, shift_i, shift_j;         // positions in its planes
  int dense_n, dense_i, dense_j;                  // offsets of the dense operand
  PixelDepth<Volume> depth;

  // l: the slice; 0 of an image.
  __device__ __forceinline__ void coordinates(unsigned pixel, int& n, int& i, int& j, int& l) const {
    unsigned row = columns.divide(pixel), slice = rows.divide(row), image = slice;
    if constexpr (Volume) image = depth.slices.divide(slice);
    n = static_cast<int>(image);
    i = static_cast<int>(row);
    j = static_cast<int>(pixel);
    l = Volume ? static_cast<int>(slice) : 0;
  }
  __device__ __forceinline__ IndexIn<Volume> at(unsigned pixel) const {
    int n, i, j, l;
    coordinates(pixel, n, i, j, l);
    const int dense = n * dense_n + i * dense_i + j * dense_j;
    const int gathered = n * gathered_n + i * gathered_i + j * gathered_j + first;
    if constexpr (Volume)
      return {dense + l * depth.dense, gathered + l * depth.gathered, i * scale_i + shift_i, j * scale_j + shift_j,
              l * depth.scale + depth.shift};
    else return {dense, gathered, i * scale_i + shift_i, j * scale_j + shift_j};
  }
};
using Pixels = PixelsIn<false>;

// Channels or filters, and taps, in the order of the tensors' axes: the innermost axis comes first.
template <bool Volume> struct TapsIn {
  Divider inner, middle;
  int gathered_c, gathered_i, gathered_j;
  int step_i, step_j;
  int dense_c, dense_a, dense_b;
  TapDepth<Volume> depth;

  template <bool ChannelsLast> __device__ __forceinline__ IndexIn<Volume> at(unsigned tap) const {
    unsigned c, a, b, t = 0;
    if constexpr (ChannelsLast) {
      c = tap;
      b = inner.divide(c);
      a = middle.divide(b);
      if constexpr (Volume) t = depth.outer.divide(a);
    } else {
      b = tap;
      a = inner.divide(b);
      c = middle.divide(a);
      if constexpr (Volume) t = c, c = depth.outer.divide(t);
    }
    const int channel = static_cast<int>(c), i = static_cast<int>(a), j = static_cast<int>(b);
    const int dense = channel * dense_c + i * dense_a + j * dense_b;
    const int gathered = channel * gathered_c + i * gathered_i + j * gathered_j;
    if constexpr (Volume) {
      const int l = static_cast<int>(t);
      return {dense + l * depth.dense, gathered + l * depth.gathered, i * step_i, j * step_j, l * depth.step};
    } else return {dense, gathered, i * step_i, j * step_j};
  }
};
using Taps = TapsIn<false>;

// Stores a sum: to y or dx, through the epilogue; or, of a split-K slice, unchanged to the workspace.
template <class T, bool PixelsAreRows, bool Volume = false> struct ImplicitOutput {
  T* y;
  PixelsIn<Volume> pixels;
  Epilogue<T> epilogue;
  int filters;  // of a group
  std::int64_t y_strides[5] = {};
  bool vectors = false;     // four neighbours in a row of the product are a vector-aligned vector of y
  float* slices = nullptr;  // [group][slice][rows][pitch] of the product; null: no split-K
  std::int64_t slice_rows = 0, slice_pitch = 0;

  __device__ __forceinline__ float* in_slice(std::int64_t slice, std::int64_t row, std::int64_t col) const {
    return slices + (slice * slice_rows + row) * slice_pitch + col;
  }
  template <int V> __device__ __forceinline__ void operator()(simt::vec<float, V> sums, gemm_kernels::At at) const {
    if (slices) return simt::store(in_slice(at.batch, at.row, at.col), sums);  // rows are whole vectors
    simt::vec<T, V> results;
    std::int64_t first = 0;
    // Each iteration rotates the sums by one and uses element 0, so that the epilogue's code is there once.
    RIDGE_KEEP_LOOP
    for (int iteration = 0; iteration < at.count; ++iteration) {
      const std::int64_t pixel = PixelsAreRows ? at.row : at.col + iteration;
      const std::int64_t k = at.batch * filters + (PixelsAreRows ? at.col + iteration : at.row);
      int n, i, j, l;
      pixels.coordinates(static_cast<unsigned>(pixel), n, i, j, l);
      const T result = epilogue(sums[0], n, k, i, j, l);
      const std::int64_t place =
          n * y_strides[0] + k * y_strides[1] + i * y_strides[2] + j * y_strides[3] + l * y_strides[4];
      if (iteration == 0) first = place;
      if (!vectors) y[place] = result;
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v + 1 < V; ++v) {
        sums[v] = sums[v + 1];
        results[v] = results[v + 1];
      }
      results[V - 1] = result;
    }
    if (vectors) simt::store(y + first, results);
  }
};

// dw = the sum of its parts, in their order.                       partial: [parts][filters][channels and taps]
// Precondition: gridDim.x * threads covers the elements.
template <class Policy, class T, bool ChannelsLast, bool Volume>
__global__ void __launch_bounds__(Policy::config.threads)
    conv_add_parts(const float* partial, T* dw, int parts, std::int64_t filters, int columns, TapsIn<Volume> taps,
                   std::int64_t filter_stride) {
  const std::int64_t at = std::int64_t{blockIdx.x} * Policy::config.threads + threadIdx.x;
  if (at >= filters * columns) return;
  const std::int64_t filter =
      static_cast<std::int64_t>(quotient(static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(columns)));
  float sum = 0;
  constexpr int batch = 16;  // so many parts are on their way together
  RIDGE_KEEP_LOOP
  for (int first = 0; first < parts; first += batch) {
    float of_parts[batch];
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < batch; ++e)
      of_parts[e] = first + e < parts ? partial[(first + e) * filters * columns + at] : -0.0f;  // changes no sum
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < batch; ++e) sum += of_parts[e];
  }
  const IndexIn<Volume> index = taps.template at<ChannelsLast>(static_cast<unsigned>(at - filter * columns));
  dw[filter * filter_stride + index.dense] = T(sum);
}

// ---- launch

// How inputs, filters and outputs meet along each axis; an image's d is not used.
struct AxisMaps {
  AxisMap h, w, d;
  std::int64_t outputs() const { return h.outputs * w.outputs * d.outputs; }
  std::int64_t taps() const { return h.taps * w.taps * d.taps; }
};
static inline AxisMaps forward_maps(const ConvProblem& p) {
  return {axis_h(p).forward(), axis_w(p).forward(), axis_d(p).forward()};
}

static inline Divider divider(std::int64_t n) { return Divider(std::max<std::int64_t>(n, 1)); }

// The pixels of `out`, [n, c, h, w] and d of the maps' outputs, which gather from planes of `in`.
template <bool Volume> static PixelsIn<Volume> pixels_in(const AxisMaps& m, const Layout& in, const Layout& out) {
  const auto& [h, w, d] = m;
  PixelDepth<Volume> depth{};
  if constexpr (Volume)
    depth = {.slices = divider(d.outputs),
             .gathered = whole(d.scale * in.stride[4]),
             .scale = whole(d.scale),
             .shift = whole(d.shift),
             .dense = whole(out.stride[4])};
  const std::int64_t first_slice = Volume ? d.shift * in.stride[4] : 0;
  return {.columns = divider(w.outputs),
          .rows = divider(h.outputs),
          .gathered_n = whole(in.stride[0]),
          .gathered_i = whole(h.scale * in.stride[2]),
          .gathered_j = whole(w.scale * in.stride[3]),
          .first = whole(h.shift * in.stride[2] + w.shift * in.stride[3] + first_slice),
          .scale_i = whole(h.scale),
          .scale_j = whole(w.scale),
          .shift_i = whole(h.shift),
          .shift_j = whole(w.shift),
          .dense_n = whole(out.stride[0]),
          .dense_i = whole(out.stride[2]),
          .dense_j = whole(out.stride[3]),
          .depth = depth};
}
static inline Pixels pixels_of(const AxisMap& h, const AxisMap& w, const Layout& in, const Layout& out) {
  return pixels_in<false>({h, w, {}}, in, out);
}

// The taps of a filter with `channels` channels of stride `channel_stride`, which gather from planes of `in`.
// ChannelsLast: the order in which the kernel counts them, whatever the problem's layout.
template <bool ChannelsLast, bool Volume>
static TapsIn<Volume> taps_in(const AxisMaps& m, const Layout& in, const Layout& filter, std::int64_t channels,
                              std::int64_t channel_stride) {
  const auto& [h, w, d] = m;
  TapDepth<Volume> depth{};
  if constexpr (Volume)
    depth = {.outer = ChannelsLast ? divider(h.taps) : divider(d.taps),
             .gathered = whole(d.step * in.stride[4]),
             .step = whole(d.step),
             .dense = whole(d.tap_pitch * filter.stride[4])};
  return {.inner = ChannelsLast ? divider(channels) : divider(w.taps),
          .middle = ChannelsLast ? divider(w.taps) : divider(h.taps),
          .gathered_c = whole(in.stride[1]),
          .gathered_i = whole(h.step * in.stride[2]),
          .gathered_j = whole(w.step * in.stride[3]),
          .step_i = whole(h.step),
          .step_j = whole(w.step),
          .dense_c = whole(channel_stride),
          .dense_a = whole(h.tap_pitch * filter.stride[2]),
          .dense_b = whole(w.tap_pitch * filter.stride[3]),
          .depth = depth};
}

template <bool ChannelsLast>
static Taps taps_of(const AxisMap& h, const AxisMap& w, const Layout& in, const Layout& filter, std::int64_t channels,
                    std::int64_t channel_stride) {
  return taps_in<ChannelsLast, false>({h, w, {}}, in, filter, channels, channel_stride);
}

// The output to pixels of [n, outs, h, w] and d; outs: channels or filters of a group.
template <class T, bool ChannelsLast, bool Volume = false>
static ImplicitOutput<T, ChannelsLast, Volume> output_of(const Epilogue<T>& epilogue, const PixelsIn<Volume>& pixels,
                                                         const AxisMap& h, const AxisMap& w, T* data, const Layout& out,
                                                         std::int64_t outs) {
  ImplicitOutput<T, ChannelsLast, Volume> output{data, pixels, epilogue, whole(outs)};
  std::copy_n(out.stride.begin(), out.rank, output.y_strides);
  // Vectors of four that begin at a multiple of four stay within an image, or within a group of filters.
  constexpr std::int64_t V = gemm_kernels::fragment(f32);
  const std::int64_t plane = h.outputs * w.outputs;
  const auto on_vectors = [&](std::initializer_list<int> axes) {
    const bool address = reinterpret_cast<std::uintptr_t>(data) % (V * sizeof(T)) == 0;
    return address && (!Volume || out.stride[4] % V == 0) &&
           std::all_of(axes.begin(), axes.end(), [&](int axis) { return out.stride[axis] % V == 0; });
  };
  output.vectors = ChannelsLast
                       ? out.stride[1] == 1 && outs % V == 0 && on_vectors({0, 2, 3})
                       : out.stride[3] == 1 && out.stride[2] == w.outputs && plane % V == 0 && on_vectors({0, 1});
  return output;
}

}  // namespace ridge::conv_detail
