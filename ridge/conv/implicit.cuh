// The convolution and its gradients as implicit GEMM: one operand is gathered from an image on its way to shared memory
// (im2col). The arithmetic is gemm's: a tile of sums in each thread's registers (gemm/thread_tile.cuh).
//
//             rows               columns               sum over              dense         gathered
//   y         filters            pixels of y           channels and taps     w             x
//   dx        channels           pixels of dx (*)      filters and taps      w             dy
//   dw        filters            channels and taps     pixels of y           dy            x
//
// (*) of one phase of the stride (geometry.hpp). The offset of a gathered element is the sum of a pixel's offset and a
// tap's. A column's offset is computed once; a few threads compute those of the sum's next elements, one step ahead. No
// other thread divides.
#pragma once
#include <ridge/conv/pixels.cuh>
#include <ridge/conv/slices.cuh>

namespace ridge::conv_detail {

template <class T, bool Volume> struct ImplicitShape {
  const T *dense, *gathered;
  int rows, columns, terms, groups;  // of one group's product
  int terms_of_part;                 // split-K: the terms of a block, in whole steps
  int dense_row;                     // offset from row to row
  std::int64_t dense_group, gathered_group;
  int height, width, depth;  // of the gathered planes; depth: of volumes
  PixelsIn<Volume> pixels;
  TapsIn<Volume> taps;
};

// A tile of an operand on its way to shared memory: [implicit_step][Pitch], of which Extent are used.
//   Along     lanes go along the sum, and a thread loads several rows or columns; otherwise lanes go along rows or
//             columns, and a thread loads several of the sum's elements. Lanes go along what is contiguous.
//   Gathered  positions in planes are checked against the borders; otherwise rows have a constant stride.
template <class T, int Extent, int Threads, int Pitch, bool Along, bool Gathered, bool Volume> class ImplicitTile {
  static constexpr int K = implicit_step, per_thread = Extent * K / Threads, own = Along ? per_thread : 1;
  static constexpr int stride = Along ? Threads / K : Threads / Extent;
  static_assert(Extent * K % Threads == 0 && (Along ? Threads % K : Threads % Extent) == 0,
                "threads bring equally much");

 public:
  // The dense operand. first: the tile's first row, in a plane of `rows` rows with stride `row_step`.
  __device__ __forceinline__ ImplicitTile(const T* data, std::int64_t row_step, std::int64_t first,
                                          std::int64_t rows) requires(!Gathered)
      : data_(data), row_step_(static_cast<int>(row_step)) {
    set_origin();
    rows_ = static_cast<int>(rows - first) - outer_;
    offset_[0] = static_cast<int>(first + outer_) * row_step_;
  }
  // The gathered operand, from planes of height x width. index(i): the Index of column i of this tile.
  template <class IndexOf>
  __device__ __forceinline__ ImplicitTile(const T* data, int height, int width, int depth,
                                          const IndexOf& index) requires(Gathered)
      : data_(data), height_(height), width_(width), depth_(depth) {
    set_origin();
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < own; ++e) {
      const IndexIn<Volume> at = index(outer_ + e * stride);
      offset_[e] = at.gathered;
      i_[e] = at.i;
      j_[e] = at.j;
      if constexpr (Volume) l_[e] = at.l;
    }
  }
  __device__ __forceinline__ void fetch(const IndexIn<Volume>* steps) {
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < per_thread; ++e) {
      const IndexIn<Volume> step = steps[Along ? k_ : k_ + e * stride];
      const int mine = Along ? e : 0;
      if constexpr (Gathered) {
        bool inside = static_cast<unsigned>(i_[mine] + step.i) < static_cast<unsigned>(height_) &&
                      static_cast<unsigned>(j_[mine] + step.j) < static_cast<unsigned>(width_);
        if constexpr (Volume)
          inside = inside && static_cast<unsigned>(l_[mine] + step.l) < static_cast<unsigned>(depth_);
        values_[e] = inside ? data_[offset_[mine] + step.gathered] : T(0.0f);
      } else {
        const bool there = mine * stride < rows_ && step.i != outside;
        values_[e] = there ? data_[offset_[0] + mine * stride * row_step_ + step.dense] : T(0.0f);
      }
    }
  }
  __device__ __forceinline__ void put(float* tile) const {
    RIDGE_UNROLL_ON_GPU
    for (int e = 0; e < per_thread; ++e) {
      const int k = Along ? k_ : k_ + e * stride, outer = Along ? outer_ + e * stride : outer_;
      tile[k * Pitch + outer] = float(values_[e]);
    }
  }

 private:
  __device__ __forceinline__ void set_origin() {
    const int rank = simt::thread_rank();
    k_ = Along ? rank % K : rank / Extent;
    outer_ = Along ? rank / K : rank % Extent;
  }

  static constexpr int positions = Gathered ? own : 1;
  const T* data_;
  int height_ = 0, width_ = 0, depth_ = 0, row_step_ = 0, rows_ = 0;
  int k_, outer_;
  int offset_[positions], i_[positions], j_[positions], l_[positions];
  T values_[per_thread];
};

// The output of dw: the sums of one part of the pixels, in float32, [part][group][rows][columns].
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

template <class Policy, bool PixelsAreRows> struct ImplicitTilePolicy {
  static constexpr gemm_kernels::Config config = implicit_tile(Policy::config, PixelsAreRows);
};

// output(product)                                   ImplicitShape has the operands; a block has one tile of one part
// Preconditions: gridDim.x is the number of tiles, y of parts, z of groups or less; offsets, sides and sizes fit an
// int, sides are below 2^30; the dynamic shared memory is the tile's smem_bytes(). P is Pass::filters,
// or output for y and dx.
template <class Policy, class T, Pass P, bool ChannelsLast, bool Volume, class Output>
__global__ void __launch_bounds__(Policy::config.threads,
                                  implicit_residency(Policy::config, P == Pass::filters || ChannelsLast))
    conv_implicit(ImplicitShape<T, Volume> s, Output output) {
  constexpr bool weights = P == Pass::filters, swap_ab = ChannelsLast && !weights;
  using TilePolicy = ImplicitTilePolicy<Policy, swap_ab>;
  constexpr gemm_kernels::Config c = TilePolicy::config;
  constexpr int threads = Policy::config.threads, K = implicit_step;
  static_assert(threads == gemm_kernels::thread_tile_threads(c));
  constexpr int pitch_a = c.bm + gemm_kernels::padding(c), pitch_b = c.bn + gemm_kernels::padding(c);
  // Whether lanes go along the sum. Contiguous in the gathered operand: pixels of a row, or channels. In the dense one:
  // elements of a filter, pixels of dy, or with channels innermost the filters of dy.
  constexpr bool along_dense = !(weights && ChannelsLast), along_gathered = weights != ChannelsLast;

  float* shared = simt::dynamic_shared<float>();  // [2][a | b]
  __shared__ IndexIn<Volume> steps[2][K];         // the sum's elements in this step and in the next
  const auto stage_a = [=](int stage) { return shared + stage * K * (pitch_a + pitch_b); };
  const auto stage_b = [=](int stage) { return shared + stage * K * (pitch_a + pitch_b) + K * pitch_a; };
  const gemm_kernels::Shape product_shape{swap_ab ? s.columns : s.rows, swap_ab ? s.rows : s.columns, s.terms, 1};
  const auto place = gemm_kernels::raster_of(product_shape.m, product_shape.n, c.bm, c.bn).at(blockIdx.x);
  const int begin = static_cast<int>(blockIdx.y) * s.terms_of_part;
  const int end = s.terms - begin < s.terms_of_part ? s.terms : begin + s.terms_of_part;
  const int parts = static_cast<int>(gridDim.y), part = static_cast<int>(blockIdx.y);

  const auto column_index = [&](std::int64_t column) -> IndexIn<Volume> {
    if (column >= s.columns) return nowhere<Volume>();
    if constexpr (weights) return s.taps.template at<ChannelsLast>(static_cast<unsigned>(column));
    else return s.pixels.at(static_cast<unsigned>(column));
  };
  const auto describe = [&](int step, int slot) {
    const int rank = simt::thread_rank();
    if (rank >= K) return;
    const int term = begin + step * K + rank;
    IndexIn<Volume> at = nowhere<Volume>();
    if (term < end) {
      if constexpr (weights) at = s.pixels.at(static_cast<unsigned>(term));
      else at = s.taps.template at<ChannelsLast>(static_cast<unsigned>(term));
    }
    steps[slot][rank] = at;
  };

  for (int group = static_cast<int>(blockIdx.z); group < s.groups; group += static_cast<int>(gridDim.z)) {
    const T *dense = s.dense + group * s.dense_group, *gathered = s.gathered + group * s.gathered_group;
    const auto dense_tile = [&](std::int64_t first) {
      return ImplicitTile < T, swap_ab ? c.bn : c.bm, threads, swap_ab ? pitch_b : pitch_a, along_dense, false,
             Volume > (dense, s.dense_row, first, s.rows);
    };
    const auto gathered_tile = [&](std::int64_t first) {
      return ImplicitTile < T, swap_ab ? c.bm : c.bn, threads, swap_ab ? pitch_a : pitch_b, along_gathered, true,
             Volume > (gathered, s.height, s.width, s.depth, [&](int i) { return column_index(first + i); });
    };
    auto a_tile = [&] {
      if constexpr (swap_ab) return gathered_tile(place.row * c.bm);
      else return dense_tile(place.row * c.bm);
    }();
    auto b_tile = [&] {
      if constexpr (swap_ab) return dense_tile(place.col * c.bn);
      else return gathered_tile(place.col * c.bn);
    }();
    gemm_kernels::ThreadTile<TilePolicy, float> product;

    describe(0, 0);
    __syncthreads();
    int step = 0;
    tile::run_double_buffered(
        end > begin ? (end - begin + K - 1) / K : 0,
        [&] {
          a_tile.fetch(steps[step & 1]);
          b_tile.fetch(steps[step & 1]);
          ++step;
          describe(step, step & 1);  // after a barrier: nobody reads this slot's old indices any more
        },
        [&](int stage) {
          a_tile.put(stage_a(stage));
          b_tile.put(stage_b(stage));
        },
        [&](int stage) { product.template add_products<K, pitch_a, pitch_b>(stage_a(stage), stage_b(stage)); });
    __syncthreads();  // the last tiles have been read: the output reuses their shared memory
    product.finish(shared, weights ? group : group * parts + part, place, product_shape, output);
    __syncthreads();  // and then the next product does
  }
}

namespace implicit {

template <int I, class T, Pass P, bool ChannelsLast, bool Volume, class Output>
static Status launch_product(const Arguments& args, const ImplicitShape<T, Volume>& s, int parts,
                             const Output& output) {
  constexpr Config c = Policy<I>::config;
  simt::Config at = launch_config(args, c.threads, tiles_of(c, s.rows, s.columns));
  at.grid.y = static_cast<unsigned>(parts);
  at.grid.z = static_cast<unsigned>(std::min<std::int64_t>(s.groups, max_grid_y));  // z has as many as y
  at.smem = static_cast<std::size_t>(implicit_smem_bytes(c, ChannelsLast && P == Pass::output));
  return simt::launch(at, conv_implicit<Policy<I>, T, P, ChannelsLast, Volume, Output>, s, output);
}

// y from x, or one phase of dx from dy. `in`, `out`: gathered planes and outputs, with the channels of a group.
template <int I, class T, bool ChannelsLast, bool Volume>
static Status launch_gather(const Arguments& args, const AxisMaps& maps, const T* in_data, const Layout& in,
                            T* out_data, Layout out, bool gradient) {
  const ConvProblem& p = args.plan.problem;
  const auto& [h, w, d] = maps;
  const std::int64_t c = channels_of_group(p), k = filters_of_group(p);
  const std::int64_t outs = gradient ? c : k, ins = gradient ? k : c;
  const std::int64_t out_axis = gradient ? 1 : 0, in_axis = gradient ? 0 : 1;  // of w
  out_data += h.first_output * out.stride[2] + w.first_output * out.stride[3] + d.first_output * out.stride[4];
  out.stride[2] *= h.output_pitch;
  out.stride[3] *= w.output_pitch;
  out.stride[4] *= d.output_pitch;
  const PixelsIn<Volume> pixels = pixels_in<Volume>(maps, in, out);
  const std::int64_t first_tap =
      h.first_tap * p.w.stride[2] + w.first_tap * p.w.stride[3] + d.first_tap * p.w.stride[4];
  ImplicitShape<T, Volume> s{.dense = static_cast<const T*>(args.w) + first_tap,
                             .gathered = in_data,
                             .rows = whole(outs),
                             .columns = whole(out.shape[0] * maps.outputs()),
                             .terms = whole(ins * maps.taps()),
                             .groups = whole(p.geometry.groups),
                             .terms_of_part = whole(ins * maps.taps()),
                             .dense_row = whole(p.w.stride[out_axis]),
                             .dense_group = k * p.w.stride[0],
                             .gathered_group = ins * in.stride[1],
                             .height = whole(h.inputs),
                             .width = whole(w.inputs),
                             .depth = whole(d.inputs),
                             .pixels = pixels,
                             .taps = taps_in<ChannelsLast, Volume>(maps, in, p.w, ins, p.w.stride[in_axis])};
  if (s.columns == 0) return {};
  const auto output =
      output_of<T, ChannelsLast, Volume>(epilogue_of<T>(args, h, w, d), pixels, h, w, out_data, out, outs);
  const auto launch = [&](const auto& to, int parts) {
    return launch_product<I, T, Pass::output, ChannelsLast, Volume>(args, s, parts, to);
  };
  if (gradient) return launch(output, 1);
  return launch_in_slices(args, ChannelsLast, output, [&](const auto& to, const gemm_kernels::Shape& shape) {
    if (shape.slices > 1) s.terms_of_part = whole(shape.slice_k * implicit_step);
    return launch(to, whole(shape.slices));
  });
}

template <int I, class T, bool ChannelsLast, bool Volume> static Status launch_filter_gradient(const Arguments& args) {
  constexpr Config c = Policy<I>::config;
  const ConvProblem& p = args.plan.problem;
  const AxisMaps maps = forward_maps(p);
  const std::int64_t filters = filters_of_group(p), terms = p.y.shape[0] * maps.outputs();
  const Layout& dw = *p.dw;
  const TapsIn<Volume> taps = taps_in<ChannelsLast, Volume>(maps, p.x, dw, channels_of_group(p), dw.stride[1]);
  const ImplicitShape<T, Volume> s{
      .dense = static_cast<const T*>(args.dy),
      .gathered = static_cast<const T*>(args.x),
      .rows = whole(filters),
      .columns = whole(terms_of(p)),
      .terms = whole(terms),
      .groups = whole(p.geometry.groups),
      .terms_of_part = whole(ceil_div(ceil_div(terms, args.plan.split), implicit_step) * implicit_step),
      .dense_row = whole(p.y.stride[1]),
      .dense_group = filters * p.y.stride[1],
      .gathered_group = channels_of_group(p) * p.x.stride[1],
      .height = whole(maps.h.inputs),
      .width = whole(maps.w.inputs),
      .depth = whole(maps.d.inputs),
      .pixels = pixels_in<Volume>(maps, p.x, p.y),
      .taps = taps};
  float* partial = static_cast<float*>(args.workspace);
  RIDGE_TRY((launch_product<I, T, Pass::filters, ChannelsLast, Volume>(
      args, s, args.plan.split, ImplicitPartial{partial, filters, s.columns, p.geometry.groups})));
  const std::int64_t all = dw.shape[0];
  return simt::launch(launch_config(args, c.threads, ceil_div(all * s.columns, c.threads)),
                      conv_add_parts<Policy<I>, T, ChannelsLast, Volume>, static_cast<const float*>(partial),
                      static_cast<T*>(args.dw), args.plan.split, all, s.columns, taps, dw.stride[0]);
}

template <int I, class T, bool ChannelsLast, bool Volume> static Status launch_in_layout(const Arguments& args) {
  const ConvProblem& p = args.plan.problem;
  const Axis h = axis_h(p), w = axis_w(p), d = axis_d(p);
  if (!p.backward)
    return launch_gather<I, T, ChannelsLast, Volume>(args, forward_maps(p), static_cast<const T*>(args.x), p.x,
                                                     static_cast<T*>(args.y), p.y, false);
  if (has_dx(p))
    for (std::int64_t l = 0; l < d.stride; ++l)
      for (std::int64_t i = 0; i < h.stride; ++i)
        for (std::int64_t j = 0; j < w.stride; ++j)
          RIDGE_TRY((launch_gather<I, T, ChannelsLast, Volume>(args, {h.gradient(i), w.gradient(j), d.gradient(l)},
                                                               static_cast<const T*>(args.dy), p.y,
                                                               static_cast<T*>(args.dx), *p.dx, true)));
  return has_dw(p) ? launch_filter_gradient<I, T, ChannelsLast, Volume>(args) : Status{};
}

template <int I, class T> static Status launch(const Arguments& args) {
  const ConvProblem& p = args.plan.problem;
  if (is_volume(p))
    return channels_last(p) ? launch_in_layout<I, T, true, true>(args) : launch_in_layout<I, T, false, true>(args);
  return channels_last(p) ? launch_in_layout<I, T, true, false>(args) : launch_in_layout<I, T, false, false>(args);
}

}  // namespace implicit
}  // namespace ridge::conv_detail
