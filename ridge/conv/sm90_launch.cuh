// Launches the row of Method::wgmma, stem or fma that a plan chose.
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/conv/sm90_fma.cuh>
#include <ridge/conv/sm90_gradient.cuh>
#include <ridge/conv/sm90_stem.cuh>

namespace ridge::conv_detail {

// gemm's kernel for a row of the table.
template <int I> struct WgmmaRow { static constexpr gemm_kernels::Config config = wgmma_tile(variants[I].config); };

// Into `to`, of x or of filters.
static inline ImageCopy copy_of(const CopyShape& to, const Layout& from, DType dtype, const void* data, void* copy,
                                std::int64_t top, std::int64_t left) {
  const std::int64_t V = unit_elements(dtype), row_units = to.row_pitch / V;
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
                .turns = false,
                .units = static_cast<unsigned>(to.elements() / V),
                .row_units = whole(row_units),
                .by_pixels = by_pixels,
                .columns = Divider(by_pixels ? to.columns : row_units),
                .rows = Divider(to.rows),
                .of_pixel = Divider(by_pixels ? to.channels / V : to.channels)};
  std::copy_n(from.stride.begin(), 4, job.strides);
  return job;
}

// The same of x's own pixels, where their planes are one axis and channels are far apart, by turning tiles.
static inline void turn(ImageCopy& job, const Layout& x, DType dtype) {
  constexpr std::int64_t least_channels = 16;  // fewer leave most of a tile empty
  const bool one_axis = x.shape[2] == 1 || x.stride[2] == x.shape[3] * x.stride[3];
  if (!one_axis || x.stride[1] == 1 || x.shape[1] < least_channels) return;
  const std::int64_t pixels = x.shape[2] * x.shape[3], tiles = ceil_div(pixels, turn_pixels);
  const std::int64_t lines = ceil_div(job.copied_channels, turn_line / static_cast<std::int64_t>(size_of(dtype)));
  job.turns = true;
  job.width = whole(pixels);
  job.units = static_cast<unsigned>(x.shape[0] * lines * tiles);
  job.columns = Divider(tiles);
  job.rows = Divider(lines);
}

// Copies what is to be copied, and says where x and the filters are then.
template <class T>
[[nodiscard]] static Status launch_copies(const Arguments& args, const Gathering& g, const void*& x, const void*& w) {
  if (!g.copies_image && !g.copies_filters) return {};
  const ConvProblem& p = args.plan.problem;
  char* workspace = static_cast<char*>(args.workspace);
  ImageCopies jobs{};
  int count = 0;
  // The filters first: they are few, and have no tail then.
  if (g.copies_filters) {
    Layout filters = p.w;
    if (g.filters_across) {  // taps, and channels as pixels of `filters` neighbours
      constexpr int axes[] = {2, 0, 3, 1};
      for (int i = 0; i < 4; ++i) filters.shape[i] = p.w.shape[axes[i]], filters.stride[i] = p.w.stride[axes[i]];
    }
    jobs.job[count++] = copy_of(g.filters, filters, p.dtype, w, workspace + g.filters_at(), 0, 0);
    w = workspace + g.filters_at();
  }
  if (g.copies_image) {
    const ConvPad none{}, &pad = g.turned ? none : p.geometry.pad;
    ImageCopy& job = jobs.job[count++] = copy_of(g.image, p.x, p.dtype, x, workspace, pad.top, pad.left);
    if (g.turned) turn(job, p.x, p.dtype);
    x = workspace;
  }
  unsigned blocks = 0;
  for (int i = 0; i < count; ++i) {
    const ImageCopy& job = jobs.job[i];
    if (i == 1) jobs.blocks = blocks;
    blocks += job.turns ? job.units : (job.units + copy_image_threads - 1) / copy_image_threads;
  }
  if (count == 1) jobs.blocks = blocks;
  const simt::Config at{.grid = dim3(blocks), .block = dim3(copy_image_threads), .stream = args.stream.handle};
  return simt::launch(at, copy_images<T>, jobs);
}

// x and w where they are, or were copied to; `element` is both's. bm, box: pixels of a tile, and lines of filters that
// a copy brings.
static inline Status make_loader(ImageLoader& loader, const ConvProblem& p, const Gathering& g, const void* x,
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
                                  .step_h = whole(g.h.step)},
                                 bm, line));
  if (g.filters_across)
    return sm90::make_tensor_map(&loader.filters, w, element,
                                 {p.w.shape[0], g.channels, g.h.taps * g.w.taps, g.filter_pitch, g.tap_pitch}, box,
                                 line);
  const std::int64_t taps = g.filter_taps > 0 ? g.filter_taps : g.h.taps * g.w.taps;
  return sm90::make_tensor_map(&loader.filters, w, element,
                               {g.channels, p.w.shape[0], taps, g.filter_pitch, g.tap_pitch}, box, line);
}

// Where slices of a product begin; step: channels of a tap.
static inline void set_slices(ImageLoader& loader, const gemm_kernels::Shape& shape, int step) {
  loader.step = step;
  loader.steps_of_tap = (loader.channels + step - 1) / step;
  loader.slice_steps = whole(shape.slice_k);
}

// Outputs by TMA, or of float32 by threads: rows of pixels that follow each other evenly, of a residual too.
static inline bool is_by_columns(const gemm_kernels::Config& c, const ConvProblem& p, const Layout& y) {
  return is_matrix(p, y) && (!p.residual || (is_matrix(p, *p.residual) &&
                                             gemm_kernels::takes_addend(c, static_cast<int>(size_of(p.dtype)))));
}

// Row: a config of gemm's kernel.
template <class Row, class T> [[nodiscard]] static Status launch_wgmma_row(const Arguments& args) {
  namespace gemm = gemm_kernels;
  using K = gemm::WgmmaKernel<Row, T, gemm::Major::k, gemm::Major::k>;
  const ConvProblem& p = args.plan.problem;
  const Gathering g = gathering_of(p, K::c.bk, false);
  const void *x = args.x, *w = args.w;
  RIDGE_TRY(launch_copies<T>(args, g, x, w));

  ImageLoader loader;
  RIDGE_TRY(make_loader(loader, p, g, x, w, tile::sm90::operand_element(p.dtype), K::c.bm, K::box_b, K::c.line));

  const AxisMap h = axis_h(p).forward(), v = axis_w(p).forward();
  const auto output = output_of<T, true>(epilogue_of<T>(args), pixels_of(h, v, p.x, p.y), h, v, static_cast<T*>(args.y),
                                         p.y, p.w.shape[0]);
  return launch_in_slices(args, output, [&](const auto& to, const gemm::Shape& shape) {
    gemm::WgmmaOutput out;
    gemm::ColumnEpilogue by_columns;
    if (shape.slices == 1 && is_by_columns(K::c, p, p.y)) {
      out = {gemm::has_tma_store<T> ? gemm::Store::tma : gemm::Store::tma_float, {args.y, pixel_pitch(p.y), 0}};
      by_columns.activation = p.epilogue.activation;
      if (p.bias) by_columns.bias = {const_cast<void*>(args.bias), p.dtype, false, 0, p.bias->stride[0], 0};
      by_columns.plain = !p.bias && !p.residual && p.epilogue.activation == Activation::none;
      if (p.residual) {
        out.addend = {args.residual, pixel_pitch(*p.residual), 0};
        by_columns.addend =
            p.epilogue.residual_first ? gemm::Addend::before_activation : gemm::Addend::after_activation;
      }
    }
    set_slices(loader, shape, K::c.bk);
    return gemm::launch_wgmma<Row, T, gemm::Major::k, gemm::Major::k>(loader, out, {shape.m, shape.n, 0, shape.slices},
                                                                      whole(shape.slice_k), by_columns, to,
                                                                      args.plan.device.sms, args.stream);
  });
}

// dx by a row of gemm's kernel.
template <class Row, class T> [[nodiscard]] static Status launch_input_gradient(const Arguments& args) {
  namespace gemm = gemm_kernels;
  using K = gemm::WgmmaKernel<Row, T, gemm::Major::k, gemm::Major::k>;
  const ConvProblem& p = args.plan.problem;
  const std::int64_t channels = p.w.shape[1], filters = p.w.shape[0], taps = taps_of(p);
  const std::int64_t tap_stride = p.w.shape[3] > 1 ? p.w.stride[3] : p.w.stride[2];
  // [taps, channels, filters]: filters of a tap are planes of one row of channels, which are turned.
  ImageCopies copies{};
  ImageCopy& job = copies.job[0];
  job = {.from = args.w,
         .to = args.workspace,
         .strides = {tap_stride, p.w.stride[0], 0, p.w.stride[1]},
         .channels = whole(filters),
         .height = 1,
         .width = whole(channels),
         .top = 0,
         .left = 0,
         .copied_channels = whole(filters),
         .turns = true,
         .units = 0,
         .row_units = 0,
         .by_pixels = false,
         .columns = Divider(ceil_div(channels, turn_pixels)),
         .rows = Divider(ceil_div(filters, turn_line / int{sizeof(T)})),
         .of_pixel = {}};
  copies.blocks = static_cast<unsigned>(taps * ceil_div(channels, turn_pixels) *
                                        ceil_div(filters, turn_line / static_cast<int>(sizeof(T))));
  job.units = copies.blocks;
  RIDGE_TRY(simt::launch({.grid = dim3(copies.blocks), .block = dim3(copy_image_threads), .stream = args.stream.handle},
                         copy_images<T>, copies));

  const Axis axis_of_h = axis_h(p), axis_of_w = axis_w(p);
  for (std::int64_t i = 0; i < axis_of_h.stride; ++i)
    for (std::int64_t j = 0; j < axis_of_w.stride; ++j) {
      const AxisMap h = axis_of_h.gradient(i), w = axis_of_w.gradient(j);
      if (h.outputs == 0 || w.outputs == 0) continue;
      const Gathering g = gradient_gathering(p, h, w);
      ConvProblem q = p;  // of this class: dy is what is gathered, and filters are for channels of x
      q.x = p.y;
      q.w.shape[0] = channels;
      q.y = p.dx;
      q.y.shape[2] = h.outputs;
      q.y.shape[3] = w.outputs;
      q.y.stride[2] *= h.output_pitch;
      q.y.stride[3] *= w.output_pitch;
      ImageLoader loader;
      RIDGE_TRY(make_loader(loader, q, g, args.dy, args.workspace, q.dtype, K::c.bm, K::box_b, K::c.line));
      T* to = static_cast<T*>(args.dx) + h.first_output * p.dx.stride[2] + w.first_output * p.dx.stride[3];
      const auto output = output_of<T, true>(Epilogue<T>{}, pixels_of(h, w, p.y, q.y), h, w, to, q.y, channels);
      const bool whole_image = axis_of_h.stride * axis_of_w.stride == 1 && is_matrix(q, q.y);
      const gemm::WgmmaOutput out{whole_image ? gemm::Store::tma : gemm::Store::epilogue,
                                  {to, whole_image ? pixel_pitch(q.y) : 0, 0}};
      gemm::ColumnEpilogue plain;
      plain.plain = true;
      RIDGE_TRY((gemm::launch_wgmma<Row, T, gemm::Major::k, gemm::Major::k>(loader, out, {pixels_of(q), channels, 0, 1},
                                                                            whole(g.steps(K::c.bk)), plain, output,
                                                                            args.plan.device.sms, args.stream)));
    }
  return {};
}

struct FilterGradientRow {
  static constexpr gemm_kernels::Config config = filter_gradient_tile();
};
struct AddPartsRow {
  static constexpr Config config = {.threads = 256};
};

// dw, whose parts pass through the workspace. Row: a config of gemm's.
template <class Row, class T> [[nodiscard]] static Status launch_filter_gradient_row(const Arguments& args) {
  namespace gemm = gemm_kernels;
  namespace sm90 = tile::sm90;
  using K = gemm::WgmmaKernel<Row, T, gemm::Major::outer, gemm::Major::outer>;
  const ConvProblem& p = args.plan.problem;
  const std::int64_t filters = p.w.shape[0], channels = p.w.shape[1], taps = taps_of(p), pixels = pixels_of(p);
  const std::int64_t parts = args.plan.split, steps = ceil_div(ceil_div(pixels, gradient_group), parts);
  Gathering g;
  if (!gather_in_place(g, p)) return Status::error(Code::unsupported, "conv2d: x lies otherwise");  // refused by fits()
  ImageLoader walk;
  RIDGE_TRY(make_loader(walk, p, g, args.x, args.w, p.dtype, gradient_group, 1, K::c.line));
  FilterGradientLoader loader{.dy = {},
                              .image = walk.image,
                              .columns = walk.columns,
                              .rows = walk.rows,
                              .groups = Divider(ceil_div(channels, gradient_group)),
                              .across = Divider(p.w.shape[3]),
                              .taps = whole(taps),
                              .channels = whole(channels),
                              .part = whole(steps * gradient_group),
                              .step_h = walk.step_h,
                              .step_w = walk.step_w,
                              .first_h = walk.first_h,
                              .first_w = walk.first_w,
                              .tap_h = walk.tap_h,
                              .tap_w = walk.tap_w};
  RIDGE_TRY(sm90::make_tensor_map(&loader.dy, args.dy, p.dtype, {filters, pixels, 1, pixel_pitch(p.y), 0}, K::c.bk));
  float* partial = reinterpret_cast<float*>(static_cast<char*>(args.workspace) + turned_filter_bytes(p));
  const FilterGradientPartial output{partial, loader.groups, filters, taps, whole(channels)};
  RIDGE_TRY((gemm::launch_wgmma<Row, T, gemm::Major::outer, gemm::Major::outer>(
      loader, gemm::WgmmaOutput{}, {filters, filter_gradient_columns(p), 0, parts}, whole(steps),
      gemm::ColumnEpilogue{}, output, args.plan.device.sms, args.stream)));
  const AxisMap h = axis_h(p).forward(), w = axis_w(p).forward();
  const Taps order = taps_of<true>(h, w, p.x, p.dw, channels, p.dw.stride[1]);
  return simt::launch(
      blocks(args, AddPartsRow::config, ceil_div(filters * taps * channels, AddPartsRow::config.threads)),
      conv_add_parts<AddPartsRow, T, true>, static_cast<const float*>(partial), static_cast<T*>(args.dw), whole(parts),
      filters, whole(taps * channels), order, p.dw.stride[0]);
}

// Both, by a row of the table whose products dx takes.
template <class Row, class T, class FilterRow = FilterGradientRow>
[[nodiscard]] static Status launch_wgmma_gradient(const Arguments& args) {
  RIDGE_TRY((launch_input_gradient<Row, T>(args)));
  return launch_filter_gradient_row<FilterRow, T>(args);
}

// The row of Method::fma. Row: a config of the table's.
template <class Row> [[nodiscard]] static Status launch_fma_row(const Arguments& args) {
  using K = FmaTile<Row>;
  constexpr Config c = Row::config;
  const ConvProblem& p = args.plan.problem;
  const Gathering g = gathering_of(p, c);
  const void *x = args.x, *w = args.w;
  RIDGE_TRY(launch_copies<float>(args, g, x, w));
  ImageLoader loader;
  RIDGE_TRY(make_loader(loader, p, g, x, w, p.dtype, K::c.bm, K::c.bk, K::c.line));
  const AxisMap h = axis_h(p).forward(), v = axis_w(p).forward();
  const auto output = output_of<float, false>(epilogue_of<float>(args), pixels_of(h, v, p.x, p.y), h, v,
                                              static_cast<float*>(args.y), p.y, p.w.shape[0]);
  return launch_in_slices(args, output, [&](const auto& to, const gemm_kernels::Shape& shape) {
    const std::int64_t columns = ceil_div(p.w.shape[0], c.tile_filters), tiles = fma_tiles(c, p) * shape.slices;
    const FmaWork work{.pixels = whole(pixels_of(p)),
                       .filters = whole(p.w.shape[0]),
                       .steps = whole(shape.k),
                       .slice_steps = whole(shape.slice_k),
                       .slices = static_cast<unsigned>(shape.slices),
                       .tiles = static_cast<unsigned>(tiles),
                       .tiles_of_slice = static_cast<unsigned>(fma_tiles(c, p)),
                       .columns = static_cast<unsigned>(columns),
                       .of_four = g.copies_image && g.image.channels == 4 ? whole(p.x.shape[1]) : 4};
    set_slices(loader, shape, c.step);
    const std::int64_t grid = std::min<std::int64_t>(tiles, std::int64_t{args.plan.device.sms} * c.blocks_per_sm);
    const simt::Config at{.grid = dim3(static_cast<unsigned>(grid)),
                          .block = dim3(static_cast<unsigned>(c.threads)),
                          .smem = static_cast<std::size_t>(fma_smem_bytes(c)),
                          .stream = args.stream.handle};
    return tile::sm90::launch_clusters(at, 1, conv_fma<Row>, loader, work, to);
  });
}

// The row of Method::stem. Row: a config of the table's.
template <class Row, class T> [[nodiscard]] static Status launch_stem_row(const Arguments& args) {
  namespace sm90 = tile::sm90;
  constexpr Config c = Row::config;
  const ConvProblem& p = args.plan.problem;
  const Layout &x = p.x, &y = p.y;
  const std::int64_t channels = x.shape[1], patches = stem_patches(p), filters = y.shape[1];
  sm90::TensorMap image{}, d{};
  RIDGE_TRY(sm90::make_tensor_map(&image, args.x, p.dtype,
                                  {x.shape[3] * channels, x.shape[2], x.shape[0], x.stride[2], x.stride[0]},
                                  stem_image_rows(c), stem_pitch * int{sizeof(T)}));
  RIDGE_TRY(sm90::make_tensor_map(
      &d, args.y, p.dtype, {filters, y.shape[3], y.shape[0] * y.shape[2], y.stride[3], y.stride[2]}, stem_columns));
  const StemWork work{.patches = static_cast<unsigned>(patches),
                      .across = Divider(ceil_div(y.shape[3], stem_columns)),
                      .down = Divider(ceil_div(y.shape[2], stem_rows)),
                      .oh = whole(y.shape[2]),
                      .filters = whole(filters),
                      .row_elements = whole(p.w.shape[3] * channels),
                      .stride_h = whole(p.geometry.stride.h),
                      .step = whole(p.geometry.stride.w * channels),
                      .top = whole(p.geometry.pad.top),
                      .left = whole(p.geometry.pad.left * channels + stem_lead(p)),
                      .lead = whole(stem_lead(p)),
                      .filter_strides = {p.w.stride[0], p.w.stride[2]}};
  gemm_kernels::ColumnEpilogue by_columns{.activation = p.epilogue.activation};
  if (p.bias) by_columns.bias = {const_cast<void*>(args.bias), p.dtype, false, 0, p.bias->stride[0], 0};
  by_columns.plain = !p.bias && p.epilogue.activation == Activation::none;
  const std::int64_t grid =
      std::min<std::int64_t>(ceil_div(patches, stem_warpgroups(c)), std::max(1, args.plan.device.sms));
  const simt::Config at{
      .grid = dim3(static_cast<unsigned>(grid), static_cast<unsigned>(ceil_div(filters, c.tile_filters))),
      .block = dim3(static_cast<unsigned>(c.threads)),
      .smem = static_cast<std::size_t>(stem_smem_bytes(c)),
      .stream = args.stream.handle};
  return sm90::launch_clusters(at, 1, conv_stem<Row, T>, image, d, static_cast<const T*>(args.w), work, by_columns);
}

template <int I> constexpr auto fma_launcher() -> Status (*)(const Arguments&) {
  if constexpr (variants[I].config.method == Method::fma) return launch_fma_row<Row<I>>;
  else return nullptr;  // launched elsewhere
}

template <int... I>
[[nodiscard]] static Status launch_fma_table(const Arguments& args, std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Arguments&) = {fma_launcher<I>()...};
  return launchers[args.plan.variant](args);
}

template <int I, class T> [[nodiscard]] static Status launch_wgmma_either(const Arguments& args) {
  if constexpr (has_gradient(variants[I].config))
    if (args.plan.problem.backward) return launch_wgmma_gradient<WgmmaRow<I>, T>(args);
  return launch_wgmma_row<WgmmaRow<I>, T>(args);
}

template <class T, int I> constexpr auto wgmma_launcher() -> Status (*)(const Arguments&) {
  if constexpr (variants[I].config.method == Method::wgmma && is_compiled(variants[I].config, dtype_of<T>))
    return launch_wgmma_either<I, T>;
  else if constexpr (variants[I].config.method == Method::stem && dtype_of<T> != f32) return launch_stem_row<Row<I>, T>;
  else return nullptr;  // launched elsewhere
}

template <class T, int... I>
[[nodiscard]] static Status launch_wgmma_table(const Arguments& args, std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Arguments&) = {wgmma_launcher<T, I>()...};
  return launchers[args.plan.variant](args);
}

}  // namespace ridge::conv_detail
