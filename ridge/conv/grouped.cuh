// Groups of few channels, channels innermost: a thread has contiguous channels of neighbouring outputs, and the filters
// of a block's channels stay in shared memory.
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/core/divider.hpp>
#include <ridge/tile/activate_many.cuh>
#include <ridge/tile/packed.cuh>

namespace ridge::conv_detail {

struct GroupedShape {
  int channels;  // of all groups, as many as filters
  int h, w, ow, top, left;
  int rows, columns;  // of filters
  int stride_h, stride_w, dilation_h, dilation_w;
  int vectors;                         // of channels, per block
  unsigned strips;                     // of Config::rows outputs of a row
  Divider of_block, of_row, of_image;  // vectors of a block; strips of a row; rows of an image
  Divider of_filter, of_tap_row;       // elements of a filter; taps of its row
  bool residual_vectors;               // its channels are contiguous too, and its pixels start on 16 bytes
  std::int64_t x[4] = {}, y[4] = {}, f[4] = {};
};

// Copies a block's filters, from first_filter on, to shared memory in float: FilterPlaces, tap by tap, channel by
// channel of a group.
template <int G, class T>
__device__ __forceinline__ void stage_filters(float* to, const T* w, const GroupedShape& p, int first_filter,
                                              int threads) {
  constexpr int V = grouped_vector(sizeof(T));
  const FilterPlaces places(p.vectors, V);
  const int count = p.vectors * V * p.rows * p.columns * G;
  // So many loads of a thread are on their way together: a block begins with nothing else.
  constexpr int batch = 16;
  RIDGE_KEEP_LOOP
  for (int first = static_cast<int>(threadIdx.x); first < count; first += batch * threads) {
    T element[batch];
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < batch; ++e) {
      element[e] = T{};
      unsigned rest = static_cast<unsigned>(first + e * threads);
      const int k = first_filter + static_cast<int>(p.of_filter.divide(rest));
      if (first + e * threads >= count || k >= p.channels) continue;
      const unsigned channel = rest % G;
      unsigned column = rest / G;
      const unsigned row = p.of_tap_row.divide(column);
      element[e] = w[k * p.f[0] + channel * p.f[1] + row * p.f[2] + column * p.f[3]];
    }
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < batch; ++e) {
      unsigned rest = static_cast<unsigned>(first + e * threads);
      const int f = static_cast<int>(p.of_filter.divide(rest));
      if (first + e * threads < count)
        to[static_cast<int>(rest) * places.pitch + places.of_four(f / V, f % V / 4) + f % 4] = float(element[e]);
    }
  }
}
// A vector's elements of one tap and channel. own: the first element that it has.
template <int V>
__device__ __forceinline__ void load_filter(const float* own, const FilterPlaces& places, float (&filter)[V]) {
  RIDGE_UNROLL_ON_GPU
  for (int v = 0; v < V; v += 4) {
    const auto four = simt::load<4>(own + places.of_four(0, v / 4));
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < 4; ++e) filter[v + e] = four[e];
  }
}

// A thread's place in its block: one of the block's vectors of channels, and one of the strips of a chunk.
template <class T> struct GroupedPlace {
  int first_filter, k;           // of the block, of the thread
  unsigned vector, slot, slots;  // slots: strips of a chunk
  __device__ __forceinline__ GroupedPlace(const GroupedShape& p, int threads) {
    vector = threadIdx.x;
    slot = p.of_block.divide(vector), slots = p.of_block(static_cast<unsigned>(threads));
    first_filter = static_cast<int>(blockIdx.y) * p.vectors * grouped_vector(sizeof(T));
    k = first_filter + static_cast<int>(vector) * grouped_vector(sizeof(T));
  }
  __device__ __forceinline__ bool exists(const GroupedShape& p) const { return slot < slots && k < p.channels; }
};

// A thread's strips of its block's chunks, which follow one another: the L1 cache still has the rows that the next row
// of outputs shares.
struct StripsInARow {
  unsigned first, end, apart;
  __device__ __forceinline__ StripsInARow(const GroupedShape& p, unsigned slot, unsigned slots) : apart(slots) {
    const unsigned chunks = (p.strips + slots - 1) / slots, each = (chunks + gridDim.x - 1) / gridDim.x;
    first = blockIdx.x * each * slots + slot;
    end = ::min(::min((blockIdx.x + 1) * each, chunks) * slots, p.strips);
  }
};

// The end of a thread's sums: neighbouring outputs of a vector of filters from k on.
template <class T> struct VectorEpilogue {
  static constexpr int V = grouped_vector(sizeof(T));
  const Epilogue<T>& epilogue;
  const GroupedShape& p;
  int k;
  bool relu, cheap;  // cheap: nothing but a bias and relu
  float bias[V];

  __device__ __forceinline__ VectorEpilogue(const Epilogue<T>& e, const GroupedShape& shape, int first)
      : epilogue(e), p(shape), k(first), relu(e.activation == Activation::relu) {
    cheap = !e.residual && (relu || e.activation == Activation::none);
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v)  // -0 changes no sum
      bias[v] = e.bias ? float(e.bias[(k + v) * e.bias_stride]) : -0.0f;
  }

  // Stores the outputs (n, k, i, j) from column first_j on: a vector each. Changes the sums.
  template <int P>
  __device__ __forceinline__ void store(float (&sums)[P][V], T* y, unsigned n, int i, int first_j) const {
    T* to = y + n * p.y[0] + i * p.y[2] + k;
    if (cheap) {
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e < P; ++e) {
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) {
          const float sum = sums[e][v] + bias[v];
          sums[e][v] = relu ? tile::relu(sum) : sum;
        }
        if (first_j + e < p.ow) tile::store_packed(to + (first_j + e) * p.y[3], rounded(sums[e]));
      }
      return;
    }
    // Each iteration rotates the sums by an output and uses the first, so that the activations' code is there once.
    const std::int64_t* at = epilogue.residual_strides;  // of n, k, i, j
    const T* residual = epilogue.residual ? epilogue.residual + n * at[0] + k * at[1] + i * at[2] : nullptr;
    RIDGE_KEEP_LOOP
    for (int j = first_j; j < ::min(first_j + P, p.ow); ++j) {
      float outputs[V], addends[V];
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) outputs[v] = sums[0][v] + bias[v];
      if (residual) load_residual(residual + j * at[3], addends);
      const auto add = [&] {
        RIDGE_UNROLL_ON_GPU
        for (int v = 0; v < V; ++v) outputs[v] += addends[v];
      };
      if (residual && epilogue.residual_first) add();
      tile::activate_many<T>(epilogue.activation, outputs);
      if (residual && !epilogue.residual_first) add();
      tile::store_packed(to + j * p.y[3], rounded(outputs));
      RIDGE_UNROLL_ON_GPU
      for (int e = 0; e + 1 < P; ++e) RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) sums[e][v] = sums[e + 1][v];
    }
  }

 private:
  __device__ __forceinline__ void load_residual(const T* from, float (&to)[V]) const {
    if (p.residual_vectors) {
      const auto values = tile::unpack_floats<T>(tile::load_packed(from));
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) to[v] = values[v];
    } else {
      RIDGE_UNROLL_ON_GPU
      for (int v = 0; v < V; ++v) to[v] = float(from[v * epilogue.residual_strides[1]]);
    }
  }
  __device__ __forceinline__ static tile::Packed rounded(const float (&x)[V]) {
    tile::Floats<T> floats;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v) floats[v] = x[v];
    return tile::pack_floats<T>(floats);
  }
};

// y = epilogue(conv(x, w)) of groups of Config::filters channels and as many filters
//                                                       x: [n, h, w, c]  y: [n, oh, ow, c]
//
// A thread's channels are one 16-byte vector of whole groups; it has their sums for Config::rows neighbouring outputs.
// For each tap it reads their inputs, which neighbouring threads' taps bring to the L1 cache, and once for all outputs
// the filters' elements [tap][channel of a group][filter] from shared memory.
// Block (b, v) has `vectors` vectors of channels from v * vectors on, and chunks b, b + gridDim.x ... of the strips; a
// chunk is threads / vectors strips. Preconditions: channels are contiguous in x and y, and pixels start on 16 bytes;
// images of less than 2^31 elements; grouped_smem_bytes().
template <class Policy, class T>
__global__ void __launch_bounds__(Policy::config.threads, Policy::config.blocks_per_sm)
    conv_grouped(const T* x, const T* w, T* y, GroupedShape p, Epilogue<T> epilogue) {
  constexpr Config c = Policy::config;
  constexpr int V = grouped_vector(sizeof(T)), P = c.rows, G = c.filters;
  static_assert(V % G == 0, "a thread has whole groups");
  float* filters = simt::dynamic_shared<float>();
  const FilterPlaces places(p.vectors, V);
  const GroupedPlace<T> place(p, c.threads);

  // ---- load
  stage_filters<G>(filters, w, p, place.first_filter, c.threads);
  __syncthreads();
  if (!place.exists(p)) return;
  const float* own = filters + places.of_four(static_cast<int>(place.vector), 0);
  const VectorEpilogue<T> finish(epilogue, p, place.k);

  RIDGE_KEEP_LOOP
  for (unsigned strip = blockIdx.x * place.slots + place.slot; strip < p.strips; strip += gridDim.x * place.slots) {
    unsigned across = strip, i = p.of_row.divide(across);
    const unsigned n = p.of_image.divide(i);
    const int first_j = static_cast<int>(across) * P;

    // ---- compute
    float sums[P][V] = {};
    const T* image = x + n * p.x[0] + place.k;
    RIDGE_KEEP_LOOP
    for (int a = 0; a < p.rows; ++a) {
      const int h = static_cast<int>(i) * p.stride_h - p.top + a * p.dilation_h;
      const bool row_inside = static_cast<unsigned>(h) < static_cast<unsigned>(p.h);
      const T* row = image + h * p.x[2];  // may be outside, and is not read there
      const float* elements = own + a * p.columns * (G * places.pitch);
      RIDGE_KEEP_LOOP
      for (int b = 0; b < p.columns; ++b, elements += G * places.pitch) {
        float filter[G][V];
        RIDGE_UNROLL_ON_GPU
        for (int g = 0; g < G; ++g) load_filter(elements + g * places.pitch, places, filter[g]);
        RIDGE_UNROLL_ON_GPU
        for (int e = 0; e < P; ++e) {
          const int j = (first_j + e) * p.stride_w - p.left + b * p.dilation_w;
          tile::Packed packed{};  // zeros outside of the image
          if (row_inside && static_cast<unsigned>(j) < static_cast<unsigned>(p.w))
            packed = tile::load_packed(row + j * p.x[3]);
          const auto values = tile::unpack_floats<T>(packed);
          RIDGE_UNROLL_ON_GPU
          for (int v = 0; v < V; ++v) RIDGE_UNROLL_ON_GPU
          for (int g = 0; g < G; ++g) sums[e][v] += values[v / G * G + g] * filter[g][v];
        }
      }
    }

    finish.store(sums, y, n, static_cast<int>(i), first_j);
  }
}

namespace grouped {

// The shape of a kernel that takes images of layout `from` to strips of `to`.
static inline GroupedShape shape_of(const ConvProblem& p, const Config& c, const Layout& from, const Layout& to) {
  const std::int64_t vectors = grouped_vectors(p), of_row = ceil_div(to.shape[3], c.rows);
  GroupedShape s{.channels = whole(p.x.shape[1]),
                 .h = whole(from.shape[2]),
                 .w = whole(from.shape[3]),
                 .ow = whole(to.shape[3]),
                 .top = whole(p.geometry.pad.top),
                 .left = whole(p.geometry.pad.left),
                 .rows = whole(p.w.shape[2]),
                 .columns = whole(p.w.shape[3]),
                 .stride_h = whole(p.geometry.stride.h),
                 .stride_w = whole(p.geometry.stride.w),
                 .dilation_h = whole(p.geometry.dilation.h),
                 .dilation_w = whole(p.geometry.dilation.w),
                 .vectors = whole(vectors),
                 .strips = static_cast<unsigned>(to.shape[0] * to.shape[2] * of_row),
                 .of_block = Divider(vectors),
                 .of_row = Divider(of_row),
                 .of_image = Divider(to.shape[2]),
                 .of_filter = Divider(taps_of(p) * channels_of_group(p)),
                 .of_tap_row = Divider(p.w.shape[3]),
                 .residual_vectors = p.residual && has_vectors_of_channels(*p.residual, p.dtype)};
  std::copy_n(from.stride.begin(), 4, s.x);
  std::copy_n(to.stride.begin(), 4, s.y);
  std::copy_n(p.w.stride.begin(), 4, s.f);
  return s;
}

// A block for each of its vectors of channels and chunk of strips: y and x of the grid.
template <class T>
static Status launch_kernel(const Arguments& args, const Config& c,
                            void (*kernel)(const T*, const T*, T*, GroupedShape, Epilogue<T>)) {
  const ConvProblem& p = args.plan.problem;
  simt::Config at = launch_config(args);
  const unsigned columns = static_cast<unsigned>(grouped_columns(p));
  at.grid = dim3(at.grid.x / columns, columns);
  return simt::launch(at, kernel, static_cast<const T*>(args.x), static_cast<const T*>(args.w), static_cast<T*>(args.y),
                      shape_of(p, c, p.x, p.y), epilogue_of<T>(args));
}

template <int I, class T> static Status launch(const Arguments& args) {
  return launch_kernel<T>(args, Policy<I>::config, conv_grouped<Policy<I>, T>);
}

}  // namespace grouped
}  // namespace ridge::conv_detail
