// The convolution and its gradients as matrix products, one operand of which is gathered from an image on its way to
// shared memory. The arithmetic is gemm's: a tile of sums in each thread's registers (gemm/thread_tile.cuh).
//
//             rows               columns               sum over              dense         gathered
//   y         filters            pixels of y           channels and taps     w             x
//   dx        channels           pixels of dx (*)      filters and taps      w             dy
//   dw        filters            channels and taps     pixels of y           dy            x
//
// (*) of one class of places (geometry.hpp). An element of the gathered operand lies where a pixel and a tap meet: the
// sum of an offset of either. A column's is known once, those of the sum's next elements are worked out by a few
// threads, a step ahead; no other thread divides.
#pragma once
#include <ridge/conv/epilogue.cuh>
#include <ridge/conv/naive.cuh>
#include <ridge/conv/variants.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/gemm/thread_tile.cuh>

namespace ridge::conv_detail {

// A pixel or a tap, as both operands see it: offsets in elements, and what it adds to the place in a plane.
struct Index {
  int dense, gathered, i, j;
};
// Added to any place it gives one that is outside of every plane: sides are below 2^30.
inline constexpr int outside = -(1 << 30);

struct Pixels {
  Divider columns, rows;                          // of a plane of outputs
  int gathered_n, gathered_i, gathered_j, first;  // offsets of the gathered operand
  int scale_i, scale_j, shift_i, shift_j;         // places in its planes
  int dense_n, dense_i, dense_j;                  // offsets of the dense operand

  __device__ __forceinline__ void split(unsigned pixel, int& n, int& i, int& j) const {
    unsigned row = columns.divide(pixel);
    n = static_cast<int>(rows.divide(row));
    i = static_cast<int>(row);
    j = static_cast<int>(pixel);
  }
  __device__ __forceinline__ Index at(unsigned pixel) const {
    int n, i, j;
    split(pixel, n, i, j);
    return {n * dense_n + i * dense_i + j * dense_j, n * gathered_n + i * gathered_i + j * gathered_j + first,
            i * scale_i + shift_i, j * scale_j + shift_j};
  }
};

// Channels or filters, and taps. The innermost of them is the tensors' innermost axis.
struct Taps {
  Divider inner, middle;
  int gathered_c, gathered_i, gathered_j;
  int step_i, step_j;
  int dense_c, dense_a, dense_b;

  template <bool ChannelsLast> __device__ __forceinline__ Index at(unsigned tap) const {
    unsigned c, a, b;
    if constexpr (ChannelsLast) {
      c = tap;
      b = inner.divide(c);
      a = middle.divide(b);
    } else {
      b = tap;
      a = inner.divide(b);
      c = middle.divide(a);
    }
    const int channel = static_cast<int>(c), i = static_cast<int>(a), j = static_cast<int>(b);
    return {channel * dense_c + i * dense_a + j * dense_b, channel * gathered_c + i * gathered_i + j * gathered_j,
            i * step_i, j * step_j};
  }
};

template <class T> struct ImplicitShape {
  const T *dense, *gathered;
  int rows, columns, terms, groups;  // of one group's product
  int terms_of_part;                 // of a block, in whole steps
  int dense_row;                     // offset from row to row
  std::int64_t dense_group, gathered_group;
  int height, width;  // of the gathered planes
  Pixels pixels;
  Taps taps;
};

// A tile of an operand on its way to shared memory: [implicit_step][Pitch], Extent of it.
//   Along     lanes follow one another along the sum, and a thread brings several rows or columns; otherwise along
//             rows or columns, and a thread brings several of the sum's elements. Whichever are neighbours in memory.
//   Gathered  places in planes are looked at; otherwise rows are evenly spaced.
template <class T, int Extent, int Threads, int Pitch, bool Along, bool Gathered> class ImplicitTile {
  static constexpr int K = implicit_step, per_thread = Extent * K / Threads, own = Along ? per_thread : 1;
  static constexpr int pace = Along ? Threads / K : Threads / Extent;
  static_assert(Extent * K % Threads == 0 && (Along ? Threads % K : Threads % Extent) == 0,
                "threads bring equally much");

 public:
  // first: of this tile in a plane of rows that are `row_step` apart, `rows` of them from there on. The dense operand.
  __device__ __forceinline__ ImplicitTile(const T* data, std::int64_t row_step, std::int64_t first,
                                          std::int64_t rows) requires(!Gathered)
      : data_(data), row_step_(static_cast<int>(row_step)) {
    place();
    rows_ = static_cast<int>(rows - first) - outer_;
    offset_[0] = static_cast<int>(first + outer_) * row_step_;
  }
  // index(i): column i of this tile. The gathered operand, of planes of height x width.
  template <class IndexOf>
  __device__ __forceinline__ ImplicitTile(const T* data, int height, int width, const IndexOf& index) requires(Gathered)
      : data_(data), height_(height), width_(width) {
    place();
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < own; ++e) {
      const Index at = index(outer_ + e * pace);
      offset_[e] = at.gathered;
      i_[e] = at.i;
      j_[e] = at.j;
    }
  }
  __device__ __forceinline__ void fetch(const Index* steps) {
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < per_thread; ++e) {
      const Index step = steps[Along ? k_ : k_ + e * pace];
      const int mine = Along ? e : 0;
      if constexpr (Gathered) {
        const bool inside = static_cast<unsigned>(i_[mine] + step.i) < static_cast<unsigned>(height_) &&
                            static_cast<unsigned>(j_[mine] + step.j) < static_cast<unsigned>(width_);
        values_[e] = inside ? data_[offset_[mine] + step.gathered] : T(0.0f);
      } else {
        const bool there = mine * pace < rows_ && step.i != outside;
        values_[e] = there ? data_[offset_[0] + mine * pace * row_step_ + step.dense] : T(0.0f);
      }
    }
  }
  __device__ __forceinline__ void put(float* tile) const {
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < per_thread; ++e) {
      const int k = Along ? k_ : k_ + e * pace, outer = Along ? outer_ + e * pace : outer_;
      tile[k * Pitch + outer] = float(values_[e]);
    }
  }

 private:
  __device__ __forceinline__ void place() {
    const int rank = simt::thread_rank();
    k_ = Along ? rank % K : rank / Extent;
    outer_ = Along ? rank / K : rank % Extent;
  }

  static constexpr int places = Gathered ? own : 1;
  const T* data_;
  int height_ = 0, width_ = 0, row_step_ = 0, rows_ = 0;
  int k_, outer_;
  int offset_[places], i_[places], j_[places];
  T values_[per_thread];
};

// Where a sum goes: y and dx, through the epilogue; or that of a slice, as it is, to where slices are added up.
template <class T, bool PixelsAreRows> struct ImplicitOutput {
  T* y;
  Pixels pixels;
  Epilogue<T> epilogue;
  int filters;  // of a group
  std::int64_t y_strides[4] = {};
  bool vectors = false;     // four neighbours of a row of the product are neighbours in y, on the address of a vector
  float* slices = nullptr;  // null: there are none. [group][slice][rows][pitch] of the product
  std::int64_t slice_rows = 0, slice_pitch = 0;

  __device__ __forceinline__ float* in_slice(std::int64_t slice, std::int64_t row, std::int64_t col) const {
    return slices + (slice * slice_rows + row) * slice_pitch + col;
  }
  template <int V> __device__ __forceinline__ void operator()(simt::vec<float, V> sums, gemm_kernels::At at) const {
    if (slices) return simt::store(in_slice(at.batch, at.row, at.col), sums);  // rows are whole vectors
    simt::vec<T, V> results;
    std::int64_t first = 0;
    // The elements take turns at place 0, so that the epilogue's code is there once.
    RIDGE_KEEP_LOOP
    for (int turn = 0; turn < at.count; ++turn) {
      const std::int64_t pixel = PixelsAreRows ? at.row : at.col + turn;
      const std::int64_t k = at.batch * filters + (PixelsAreRows ? at.col + turn : at.row);
      int n, i, j;
      pixels.split(static_cast<unsigned>(pixel), n, i, j);
      const T result = epilogue(sums[0], n, k, i, j);
      const std::int64_t place = n * y_strides[0] + k * y_strides[1] + i * y_strides[2] + j * y_strides[3];
      if (turn == 0) first = place;
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

// And of dw, one part of the pixels: sums in float32, [part][group][rows][columns].
struct ImplicitPartial {
  float* partial;
  std::int64_t rows, columns, groups;

  template <int V> __device__ __forceinline__ void operator()(simt::vec<float, V> sums, gemm_kernels::At at) const {
    float* to = partial + ((blockIdx.y * groups + at.batch) * rows + at.row) * columns + at.col;
    RIDGE_UNROLL_ON_GPU
    for (int v = 0; v < V; ++v)
      if (v < at.count) to[v] = sums[v];
  }
};

constexpr int implicit_residency(const Config& c, bool is_wide) {
  return is_wide ? c.blocks_per_sm_wide : c.blocks_per_sm;
}

template <class Row, bool PixelsAreRows> struct ImplicitTileRow {
  static constexpr gemm_kernels::Config config = implicit_tile(Row::config, PixelsAreRows);
};

// output(product)                                   ImplicitShape says of what; a block has one tile of one part
// Preconditions: gridDim.x is the number of tiles, y of parts, z of groups or less; offsets, sides and sizes fit an
// int, sides are below 2^30; smem_bytes() of the tile of dynamic shared memory. P is Pass::filters,
// or output for y and dx.
template <class Row, class T, Pass P, bool ChannelsLast, class Output>
__global__ void __launch_bounds__(Row::config.threads,
                                  implicit_residency(Row::config, P == Pass::filters || ChannelsLast))
    conv_implicit(ImplicitShape<T> s, Output output) {
  constexpr bool weights = P == Pass::filters, swapped = ChannelsLast && !weights;
  using TileRow = ImplicitTileRow<Row, swapped>;
  constexpr gemm_kernels::Config c = TileRow::config;
  constexpr int threads = Row::config.threads, K = implicit_step;
  static_assert(threads == gemm_kernels::threads(c));
  constexpr int pitch_a = c.bm + gemm_kernels::padding(c), pitch_b = c.bn + gemm_kernels::padding(c);
  // Which way lanes go. Of the gathered operand: pixels of a row are neighbours, or channels. Of the dense one:
  // elements of a filter are, pixels of dy, or with channels innermost the filters of dy.
  constexpr bool along_dense = !(weights && ChannelsLast), along_gathered = weights != ChannelsLast;

  float* shared = simt::dynamic_shared<float>();  // [2][a | b]
  __shared__ Index steps[2][K];                   // of the sum's elements in this step and in the next
  const auto stage_a = [=](int stage) { return shared + stage * K * (pitch_a + pitch_b); };
  const auto stage_b = [=](int stage) { return shared + stage * K * (pitch_a + pitch_b) + K * pitch_a; };
  const gemm_kernels::Shape product_shape{swapped ? s.columns : s.rows, swapped ? s.rows : s.columns, s.terms, 1};
  const auto place = gemm_kernels::raster_of(product_shape.m, product_shape.n, c.bm, c.bn).at(blockIdx.x);
  const int begin = static_cast<int>(blockIdx.y) * s.terms_of_part;
  const int end = s.terms - begin < s.terms_of_part ? s.terms : begin + s.terms_of_part;
  const int parts = static_cast<int>(gridDim.y), part = static_cast<int>(blockIdx.y);

  const auto column_index = [&](std::int64_t column) -> Index {
    if (column >= s.columns) return {0, 0, outside, 0};
    if constexpr (weights) return s.taps.template at<ChannelsLast>(static_cast<unsigned>(column));
    else return s.pixels.at(static_cast<unsigned>(column));
  };
  const auto describe = [&](int step, int slot) {
    const int rank = simt::thread_rank();
    if (rank >= K) return;
    const int term = begin + step * K + rank;
    Index at{0, 0, outside, 0};
    if (term < end) {
      if constexpr (weights) at = s.pixels.at(static_cast<unsigned>(term));
      else at = s.taps.template at<ChannelsLast>(static_cast<unsigned>(term));
    }
    steps[slot][rank] = at;
  };

  for (int group = static_cast<int>(blockIdx.z); group < s.groups; group += static_cast<int>(gridDim.z)) {
    const T *dense = s.dense + group * s.dense_group, *gathered = s.gathered + group * s.gathered_group;
    const auto dense_tile = [&](std::int64_t first) {
      return ImplicitTile < T, swapped ? c.bn : c.bm, threads, swapped ? pitch_b : pitch_a, along_dense,
             false > (dense, s.dense_row, first, s.rows);
    };
    const auto gathered_tile = [&](std::int64_t first) {
      return ImplicitTile < T, swapped ? c.bm : c.bn, threads, swapped ? pitch_a : pitch_b, along_gathered,
             true > (gathered, s.height, s.width, [&](int i) { return column_index(first + i); });
    };
    auto a_tile = [&] {
      if constexpr (swapped) return gathered_tile(place.row * c.bm);
      else return dense_tile(place.row * c.bm);
    }();
    auto b_tile = [&] {
      if constexpr (swapped) return dense_tile(place.col * c.bn);
      else return gathered_tile(place.col * c.bn);
    }();
    gemm_kernels::ThreadTile<TileRow, float> product;

    describe(0, 0);
    __syncthreads();
    int step = 0;
    tile::run_double_buffered(
        end > begin ? (end - begin + K - 1) / K : 0,
        [&] {
          a_tile.fetch(steps[step & 1]);
          b_tile.fetch(steps[step & 1]);
          ++step;
          describe(step, step & 1);  // after a barrier: those of the step before the last are used
        },
        [&](int stage) {
          a_tile.put(stage_a(stage));
          b_tile.put(stage_b(stage));
        },
        [&](int stage) { product.template add_products<K, pitch_a, pitch_b>(stage_a(stage), stage_b(stage)); });
    __syncthreads();  // the last tiles have been read; their place becomes the output's
    product.finish(shared, weights ? group : group * parts + part, place, product_shape, output);
    __syncthreads();  // and the next product's
  }
}

// dw = the sum of its parts, in their order.                       partial: [parts][filters][channels and taps]
// Precondition: gridDim.x * threads covers an element each.
template <class Row, class T, bool ChannelsLast>
__global__ void __launch_bounds__(Row::config.threads)
    conv_add_parts(const float* partial, T* dw, int parts, std::int64_t filters, int columns, Taps taps,
                   std::int64_t filter_stride) {
  const std::int64_t at = std::int64_t{blockIdx.x} * Row::config.threads + threadIdx.x;
  if (at >= filters * columns) return;
  const std::int64_t filter =
      static_cast<std::int64_t>(quotient(static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(columns)));
  float sum = 0;
  for (int part = 0; part < parts; ++part) sum += partial[part * filters * columns + at];
  const Index index = taps.at<ChannelsLast>(static_cast<unsigned>(at - filter * columns));
  dw[filter * filter_stride + index.dense] = T(sum);
}

}  // namespace ridge::conv_detail
