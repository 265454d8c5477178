// Launches the row of variants.hpp that a plan chose. Functions are static: the .cu files are compiled twice, for the
// CPU runtime and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/conv/direct.cuh>
#include <ridge/conv/grouped.cuh>
#include <ridge/conv/implicit.cuh>
#include <ridge/conv/launch.hpp>
#include <ridge/conv/naive.cuh>
#include <ridge/conv/slices.hpp>
#include <ridge/conv/winograd.cuh>
#include <ridge/gemm/add_slices.cuh>

#include <algorithm>
#include <utility>

namespace ridge::conv_detail {

// A row of the table as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Row { static constexpr Config config = variants[I].config; };

static inline int whole(std::int64_t n) {
  return static_cast<int>(n);
}  // fits() has bounded what is handed over as int
static inline bool channels_last(const ConvProblem& p) { return p.geometry.layout == ConvLayout::nhwc; }

template <class T> static Epilogue<T> epilogue_of(const Arguments& args) {
  const ConvProblem& p = args.plan.problem;
  Epilogue<T> e{.bias = static_cast<const T*>(args.bias), .residual = static_cast<const T*>(args.residual)};
  if (p.bias) e.bias_stride = p.bias->stride[0];
  if (p.residual) std::copy_n(p.residual->stride.begin(), 4, e.residual_strides);
  e.activation = p.epilogue.activation;
  e.residual_first = p.epilogue.residual_first;
  return e;
}

static inline simt::Config blocks(const Arguments& args, const Config& c, std::int64_t grid) {
  return {.grid = dim3(static_cast<unsigned>(grid)),
          .block = dim3(static_cast<unsigned>(c.threads)),
          .stream = args.stream.handle,
          .warp = args.plan.device.warp};
}

static inline Wide wide(const ConvProblem& p, const Layout& x, const Layout& w) {
  Wide s{.images = p.x.shape[0],
         .channels = channels_of_group(p),
         .filters = filters_of_group(p),
         .groups = p.geometry.groups,
         .h = axis_h(p),
         .w = axis_w(p)};
  std::copy_n(x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  std::copy_n(w.stride.begin(), 4, s.f);
  return s;
}

// ---- naive, coarse, direct -----------------------------------------------------------------------------------------

template <int I, class T> static Status launch_naive(const Arguments& args) {
  constexpr Config c = Row<I>::config;
  const ConvProblem& p = args.plan.problem;
  const T *x = static_cast<const T*>(args.x), *w = static_cast<const T*>(args.w), *dy = static_cast<const T*>(args.dy);
  const auto at = [&](const Layout& out) { return blocks(args, c, ceil_div(out.count(), c.threads)); };
  const bool last = channels_last(p);
  if (!p.backward)
    return simt::launch(at(p.y), conv_naive<Row<I>, T, Pass::output>, x, w, dy, static_cast<T*>(args.y),
                        wide(p, p.x, p.w), epilogue_of<T>(args), last);
  if (p.dx.count() > 0)
    RIDGE_TRY(simt::launch(at(p.dx), conv_naive<Row<I>, T, Pass::inputs>, x, w, dy, static_cast<T*>(args.dx),
                           wide(p, p.dx, p.w), Epilogue<T>{}, last));
  if (p.dw.count() == 0) return {};
  return simt::launch(at(p.dw), conv_naive<Row<I>, T, Pass::filters>, x, w, dy, static_cast<T*>(args.dw),
                      wide(p, p.x, p.dw), Epilogue<T>{}, last);
}

template <int I, class T> static Status launch_coarse(const Arguments& args) {
  constexpr Config c = Row<I>::config;
  const ConvProblem& p = args.plan.problem;
  const std::int64_t items = coarse_items(p);
  return simt::launch(blocks(args, c, ceil_div(items, c.threads)), conv_coarse<Row<I>, T>,
                      static_cast<const T*>(args.x), static_cast<const T*>(args.w), static_cast<T*>(args.y),
                      wide(p, p.x, p.w), epilogue_of<T>(args), Divider(ceil_div(p.y.shape[3], coarse_columns)),
                      Divider(ceil_div(p.y.shape[2], coarse_rows)), Divider(p.y.shape[1]),
                      static_cast<unsigned>(items));
}

// Whether rows are whole groups of N neighbouring floats, each on as many bytes.
template <int N> static bool has_groups(const Layout& t, const void* data) {
  const bool whole = t.shape[3] % N == 0 && t.stride[0] % N == 0 && t.stride[1] % N == 0 && t.stride[2] % N == 0;
  return whole && t.stride[3] == 1 && reinterpret_cast<std::uintptr_t>(data) % (N * sizeof(float)) == 0;
}

template <int I> static Status launch_direct(const Arguments& args) {
  constexpr Config c = Row<I>::config;
  const ConvProblem& p = args.plan.problem;
  DirectShape s{.channels = whole(channels_of_group(p)),
                .filters = whole(filters_of_group(p)),
                .h = whole(p.x.shape[2]),
                .w = whole(p.x.shape[3]),
                .oh = whole(p.y.shape[2]),
                .ow = whole(p.y.shape[3]),
                .top = whole(p.geometry.pad.top),
                .left = whole(p.geometry.pad.left),
                .tiles_w = Divider(ceil_div(p.y.shape[3], direct_columns)),
                .tiles_h = Divider(ceil_div(p.y.shape[2], direct_rows(c))),
                .groups = Divider(p.geometry.groups)};
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  std::copy_n(p.w.stride.begin(), 4, s.f);
  s.pairs = has_groups<2>(p.y, args.y);
  s.units = has_groups<4>(p.x, args.x) && p.geometry.pad.left % 4 == 0;
  simt::Config at = blocks(args, c, direct_grid(c, p));
  at.smem = static_cast<std::size_t>(direct_smem_bytes(c, s.channels, s.filters));
  return simt::launch(at, conv_direct<Row<I>>, static_cast<const float*>(args.x), static_cast<const float*>(args.w),
                      static_cast<float*>(args.y), s, epilogue_of<float>(args));
}

// ---- grouped -------------------------------------------------------------------------------------------------------

template <int I, class T> static Status launch_grouped(const Arguments& args) {
  constexpr Config c = Row<I>::config;
  const ConvProblem& p = args.plan.problem;
  const std::int64_t vectors = grouped_vectors(p), all = p.x.shape[1] / grouped_vector(sizeof(T));
  const std::int64_t strips = grouped_strips(c, p);
  GroupedShape s{.channels = whole(p.x.shape[1]),
                 .h = whole(p.x.shape[2]),
                 .w = whole(p.x.shape[3]),
                 .ow = whole(p.y.shape[3]),
                 .top = whole(p.geometry.pad.top),
                 .left = whole(p.geometry.pad.left),
                 .rows = whole(p.w.shape[2]),
                 .columns = whole(p.w.shape[3]),
                 .stride_h = whole(p.geometry.stride.h),
                 .stride_w = whole(p.geometry.stride.w),
                 .dilation_h = whole(p.geometry.dilation.h),
                 .dilation_w = whole(p.geometry.dilation.w),
                 .vectors = whole(vectors),
                 .strips = static_cast<unsigned>(strips),
                 .of_block = Divider(vectors),
                 .of_row = Divider(ceil_div(p.y.shape[3], c.rows)),
                 .of_image = Divider(p.y.shape[2])};
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  std::copy_n(p.w.stride.begin(), 4, s.f);
  const std::int64_t columns = ceil_div(all, vectors), of_turn = c.threads / vectors;
  const std::int64_t resident = ceil_div(std::int64_t{args.plan.device.sms} * c.blocks_per_sm, columns);
  simt::Config at = blocks(args, c, std::min(ceil_div(strips, of_turn), resident));
  at.grid.y = static_cast<unsigned>(columns);
  at.smem = static_cast<std::size_t>(grouped_smem_bytes(c, p));
  return simt::launch(at, conv_grouped<Row<I>, T>, static_cast<const T*>(args.x), static_cast<const T*>(args.w),
                      static_cast<T*>(args.y), s, epilogue_of<T>(args));
}

// ---- implicit ------------------------------------------------------------------------------------------------------

// Pixels of `out`, an [n, c, h, w] of outputs as the maps have them, that gather from planes of `in`.
static inline Pixels pixels_of(const AxisMap& h, const AxisMap& w, const Layout& in, const Layout& out) {
  return {.columns = Divider(std::max<std::int64_t>(w.outputs, 1)),
          .rows = Divider(std::max<std::int64_t>(h.outputs, 1)),
          .gathered_n = whole(in.stride[0]),
          .gathered_i = whole(h.scale * in.stride[2]),
          .gathered_j = whole(w.scale * in.stride[3]),
          .first = whole(h.shift * in.stride[2] + w.shift * in.stride[3]),
          .scale_i = whole(h.scale),
          .scale_j = whole(w.scale),
          .shift_i = whole(h.shift),
          .shift_j = whole(w.shift),
          .dense_n = whole(out.stride[0]),
          .dense_i = whole(out.stride[2]),
          .dense_j = whole(out.stride[3])};
}

// Taps of a filter whose channels are `channels` steps of `channel_stride`, that gather from planes of `in`.
// ChannelsLast: as their kernel counts them, whatever the problem's layout.
template <bool ChannelsLast>
static Taps taps_of(const AxisMap& h, const AxisMap& w, const Layout& in, const Layout& filter, std::int64_t channels,
                    std::int64_t channel_stride) {
  const auto divider = [](std::int64_t n) { return Divider(std::max<std::int64_t>(n, 1)); };
  return {.inner = ChannelsLast ? divider(channels) : divider(w.taps),
          .middle = ChannelsLast ? divider(w.taps) : divider(h.taps),
          .gathered_c = whole(in.stride[1]),
          .gathered_i = whole(h.step * in.stride[2]),
          .gathered_j = whole(w.step * in.stride[3]),
          .step_i = whole(h.step),
          .step_j = whole(w.step),
          .dense_c = whole(channel_stride),
          .dense_a = whole(h.tap_pitch * filter.stride[2]),
          .dense_b = whole(w.tap_pitch * filter.stride[3])};
}

// Where sums go: pixels of [n, outs, h, w], `outs` channels or filters of a group.
template <class T, bool ChannelsLast>
static ImplicitOutput<T, ChannelsLast> output_of(const Epilogue<T>& epilogue, const Pixels& pixels, const AxisMap& h,
                                                 const AxisMap& w, T* data, const Layout& out, std::int64_t outs) {
  ImplicitOutput<T, ChannelsLast> output{data, pixels, epilogue, whole(outs)};
  std::copy_n(out.stride.begin(), 4, output.y_strides);
  // Groups of four that begin at a multiple of four stay within an image, or within a group of filters.
  constexpr std::int64_t V = gemm_kernels::fragment(f32);
  const std::int64_t plane = h.outputs * w.outputs;
  const auto on_vectors = [&](std::initializer_list<int> axes) {
    const bool address = reinterpret_cast<std::uintptr_t>(data) % (V * sizeof(T)) == 0;
    return address && std::all_of(axes.begin(), axes.end(), [&](int axis) { return out.stride[axis] % V == 0; });
  };
  output.vectors = ChannelsLast
                       ? out.stride[1] == 1 && outs % V == 0 && on_vectors({0, 2, 3})
                       : out.stride[3] == 1 && out.stride[2] == w.outputs && plane % V == 0 && on_vectors({0, 1});
  return output;
}

// launch(output, shape) of a product whose sums become `output`; where it is in slices, of their sums into the
// workspace, which are then added up.
template <class Output, class Launch>
static Status launch_in_slices(const Arguments& args, const Output& output, Launch&& launch) {
  const ConvPlan& plan = args.plan;
  const gemm_kernels::Shape shape =
      shape_of_product(variants[plan.variant].config, plan.problem, plan.steps, {plan.split, plan.slice_steps});
  if (shape.slices == 1) return launch(output, shape);
  Output sums = output;
  sums.slices = reinterpret_cast<float*>(static_cast<char*>(args.workspace) + plan.slices_at);
  sums.slice_rows = shape.m;
  sums.slice_pitch = gemm_kernels::slice_pitch(shape.n);
  RIDGE_TRY(launch(sums, shape));
  return gemm_kernels::launch_add_slices(static_cast<const float*>(sums.slices), shape, output, args.stream,
                                         plan.device.warp, plan.device.cc);
}

template <int I, class T, Pass P, bool ChannelsLast, class Output>
static Status launch_product(const Arguments& args, const ImplicitShape<T>& s, int parts, const Output& output) {
  constexpr Config c = Row<I>::config;
  constexpr gemm_kernels::Config tile = ImplicitTileRow < Row<I>, ChannelsLast && P == Pass::output > ::config;
  simt::Config at = blocks(args, c, implicit_tiles(c, s.rows, s.columns));
  at.grid.y = static_cast<unsigned>(parts);
  at.grid.z = static_cast<unsigned>(std::min<std::int64_t>(s.groups, max_grid_yz));
  at.smem = static_cast<std::size_t>(gemm_kernels::smem_bytes(tile, f32));
  return simt::launch(at, conv_implicit<Row<I>, T, P, ChannelsLast, Output>, s, output);
}

// y of x, or one class of dx of dy. `in`, `out`: gathered planes and outputs; channels of a group of either.
template <int I, class T, bool ChannelsLast>
static Status launch_gather(const Arguments& args, const AxisMap& h, const AxisMap& w, const T* in_data,
                            const Layout& in, T* out_data, Layout out, bool gradient) {
  const ConvProblem& p = args.plan.problem;
  const std::int64_t c = channels_of_group(p), k = filters_of_group(p);
  const std::int64_t outs = gradient ? c : k, ins = gradient ? k : c;
  const std::int64_t out_axis = gradient ? 1 : 0, in_axis = gradient ? 0 : 1;  // of w
  out_data += h.first_output * out.stride[2] + w.first_output * out.stride[3];
  out.stride[2] *= h.output_pitch;
  out.stride[3] *= w.output_pitch;
  const Pixels pixels = pixels_of(h, w, in, out);
  ImplicitShape<T> s{.dense = static_cast<const T*>(args.w) + h.first_tap * p.w.stride[2] + w.first_tap * p.w.stride[3],
                     .gathered = in_data,
                     .rows = whole(outs),
                     .columns = whole(out.shape[0] * h.outputs * w.outputs),
                     .terms = whole(ins * h.taps * w.taps),
                     .groups = whole(p.geometry.groups),
                     .terms_of_part = whole(ins * h.taps * w.taps),
                     .dense_row = whole(p.w.stride[out_axis]),
                     .dense_group = k * p.w.stride[0],
                     .gathered_group = ins * in.stride[1],
                     .height = whole(h.inputs),
                     .width = whole(w.inputs),
                     .pixels = pixels,
                     .taps = taps_of<ChannelsLast>(h, w, in, p.w, ins, p.w.stride[in_axis])};
  if (s.columns == 0) return {};
  const auto output =
      output_of<T, ChannelsLast>(gradient ? Epilogue<T>{} : epilogue_of<T>(args), pixels, h, w, out_data, out, outs);
  const auto launch = [&](const auto& to, int parts) {
    return launch_product<I, T, Pass::output, ChannelsLast>(args, s, parts, to);
  };
  if (gradient) return launch(output, 1);
  return launch_in_slices(args, output, [&](const auto& to, const gemm_kernels::Shape& shape) {
    if (shape.slices > 1) s.terms_of_part = whole(shape.slice_k * implicit_step);
    return launch(to, whole(shape.slices));
  });
}

template <int I, class T, bool ChannelsLast> static Status launch_filter_gradient(const Arguments& args) {
  constexpr Config c = Row<I>::config;
  const ConvProblem& p = args.plan.problem;
  const AxisMap h = axis_h(p).forward(), w = axis_w(p).forward();
  const std::int64_t filters = filters_of_group(p), terms = p.y.shape[0] * h.outputs * w.outputs;
  const Taps taps = taps_of<ChannelsLast>(h, w, p.x, p.dw, channels_of_group(p), p.dw.stride[1]);
  const ImplicitShape<T> s{
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
      .height = whole(h.inputs),
      .width = whole(w.inputs),
      .pixels = pixels_of(h, w, p.x, p.y),
      .taps = taps};
  float* partial = static_cast<float*>(args.workspace);
  RIDGE_TRY((launch_product<I, T, Pass::filters, ChannelsLast>(
      args, s, args.plan.split, ImplicitPartial{partial, filters, s.columns, p.geometry.groups})));
  const std::int64_t all = p.dw.shape[0];
  return simt::launch(blocks(args, c, ceil_div(all * s.columns, c.threads)), conv_add_parts<Row<I>, T, ChannelsLast>,
                      static_cast<const float*>(partial), static_cast<T*>(args.dw), args.plan.split, all, s.columns,
                      taps, p.dw.stride[0]);
}

template <int I, class T, bool ChannelsLast> static Status launch_implicit(const Arguments& args) {
  const ConvProblem& p = args.plan.problem;
  const Axis h = axis_h(p), w = axis_w(p);
  if (!p.backward)
    return launch_gather<I, T, ChannelsLast>(args, h.forward(), w.forward(), static_cast<const T*>(args.x), p.x,
                                             static_cast<T*>(args.y), p.y, false);
  if (p.dx.count() > 0)
    for (std::int64_t i = 0; i < h.stride; ++i)
      for (std::int64_t j = 0; j < w.stride; ++j)
        RIDGE_TRY((launch_gather<I, T, ChannelsLast>(args, h.gradient(i), w.gradient(j), static_cast<const T*>(args.dy),
                                                     p.y, static_cast<T*>(args.dx), p.dx, true)));
  return p.dw.count() > 0 ? launch_filter_gradient<I, T, ChannelsLast>(args) : Status{};
}

// ---- winograd ------------------------------------------------------------------------------------------------------

// gemm's kernel for a row of the table.
template <int I> struct WinogradRow {
  static constexpr gemm_kernels::Config config = winograd_tile(variants[I].config);
};

template <int I, bool ChannelsLast> static Status launch_winograd(const Arguments& args) {
  constexpr Config c = Row<I>::config;
  using Block = WinogradBlock<Row<I>>;
  constexpr gemm_kernels::Major outer = gemm_kernels::Major::outer;
  const ConvProblem& p = args.plan.problem;
  const WinogradParts parts = winograd_parts(p);
  const std::int64_t channels = p.w.shape[1], filters = p.w.shape[0];
  WinogradShape s{.channels = whole(channels),
                  .filters = whole(filters),
                  .h = whole(p.x.shape[2]),
                  .w = whole(p.x.shape[3]),
                  .oh = whole(p.y.shape[2]),
                  .ow = whole(p.y.shape[3]),
                  .top = whole(p.geometry.pad.top),
                  .left = whole(p.geometry.pad.left),
                  .first = 0,
                  .pitch = parts.pitch,
                  .filter_pitch = parts.filter_pitch,
                  .tiles = 0,
                  .tiles_w = Divider(parts.tiles_w),
                  .tiles_h = Divider(parts.tiles_h),
                  .across_u = Divider(ChannelsLast ? ceil_div(channels, Block::lanes) : filters),
                  .across_v = {},
                  .across_y = {}};
  std::copy_n(p.x.stride.begin(), 4, s.x);
  std::copy_n(p.y.stride.begin(), 4, s.y);
  std::copy_n(p.w.stride.begin(), 4, s.f);
  s.pairs = has_groups<2>(p.y, args.y);

  const float *x = static_cast<const float*>(args.x), *w = static_cast<const float*>(args.w);
  float *u = static_cast<float*>(args.workspace), *v = u + parts.v_at, *m = u + parts.m_at;
  // rows: channels or filters, which in NHWC lanes follow; columns: tiles or filters.
  const auto grid = [&](std::int64_t rows, std::int64_t columns) {
    return blocks(args, c,
                  ChannelsLast ? ceil_div(rows, Block::lanes) * ceil_div(columns, Block::columns)
                               : ceil_div(rows * columns, c.threads));
  };
  constexpr auto turn_filters = ChannelsLast ? conv_winograd_filters_last<Row<I>> : conv_winograd_filters<Row<I>>;
  constexpr auto turn_inputs = ChannelsLast ? conv_winograd_inputs_last<Row<I>> : conv_winograd_inputs<Row<I>>;
  constexpr auto turn_sums = ChannelsLast ? conv_winograd_outputs_last<Row<I>> : conv_winograd_outputs<Row<I>>;
  RIDGE_TRY(simt::launch(grid(channels, filters), turn_filters, w, u, s));
  for (; s.first < p.y.shape[0]; s.first += parts.images) {
    const std::int64_t tiles = parts.tiles(std::min(parts.images, p.y.shape[0] - s.first));
    s.tiles = static_cast<unsigned>(tiles);
    s.across_v = Divider(ChannelsLast ? ceil_div(channels, Block::lanes) : tiles);
    s.across_y = Divider(ChannelsLast ? ceil_div(filters, Block::lanes) : tiles);
    RIDGE_TRY(simt::launch(grid(channels, tiles), turn_inputs, x, v, s));
    // m [filters, tiles] = u' v, of which the channels are the rows.
    RIDGE_TRY((gemm_kernels::launch_thread_tile<WinogradRow<I>, float, outer, outer>(
        {u, 1, parts.filter_pitch, channels * parts.filter_pitch}, {v, 1, parts.pitch, channels * parts.pitch},
        {filters, tiles, channels, winograd_products}, WinogradProducts{m, parts.pitch, filters}, args.stream,
        args.plan.device.warp)));
    RIDGE_TRY(simt::launch(grid(filters, tiles), turn_sums, static_cast<const float*>(m), x, w,
                           static_cast<float*>(args.y), s, epilogue_of<float>(args)));
  }
  return {};
}

// ---- the table -----------------------------------------------------------------------------------------------------

template <int I, class T> static Status launch_row(const Arguments& args) {
  constexpr Config c = Row<I>::config;
  if constexpr (!is_compiled(c, dtype_of<T>)) {
    return Status::error(Code::unsupported, "conv2d: this variant is not compiled for the type");  // refused by fits()
  } else if constexpr (c.method == Method::naive) {
    return launch_naive<I, T>(args);
  } else if constexpr (c.method == Method::coarse) {
    return launch_coarse<I, T>(args);
  } else if constexpr (c.method == Method::direct) {
    return launch_direct<I>(args);
  } else if constexpr (c.method == Method::grouped) {
    return launch_grouped<I, T>(args);
  } else if constexpr (c.method == Method::winograd) {
    return channels_last(args.plan.problem) ? launch_winograd<I, true>(args) : launch_winograd<I, false>(args);
  } else if constexpr (is_for_hopper(c)) {
    return Status::error(Code::unsupported, "conv2d: a row for CUDA");  // refused by fits()
  } else {
    return channels_last(args.plan.problem) ? launch_implicit<I, T, true>(args) : launch_implicit<I, T, false>(args);
  }
}

template <class T, int... I> static Status launch_variant(const Arguments& args, std::integer_sequence<int, I...>) {
  Status status;
  ((args.plan.variant == I ? void(status = launch_row<I, T>(args)) : void()), ...);
  return status;
}

template <class T> static Status launch_table(const Arguments& args) {
  return launch_variant<T>(args, std::make_integer_sequence<int, variant_count>{});
}

}  // namespace ridge::conv_detail
