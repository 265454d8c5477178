// Launches the row of Method::wgmma that a plan chose.
#pragma once
#include <ridge/conv/launch.cuh>
#include <ridge/conv/sm90_image.cuh>

namespace ridge::conv_detail {

// gemm's kernel for a row of the table.
template <int I> struct WgmmaRow { static constexpr gemm_kernels::Config config = wgmma_tile(variants[I].config); };

// Into `to`, of x or of filters.
static inline ImageCopy copy_of(const CopyShape& to, const Layout& from, const void* data, void* copy, std::int64_t top,
                                std::int64_t left) {
  const std::int64_t V = unit_elements, row_units = to.row_pitch / V;
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
                .units = static_cast<unsigned>(to.elements() / V),
                .row_units = whole(row_units),
                .by_pixels = by_pixels,
                .columns = Divider(by_pixels ? to.columns : row_units),
                .rows = Divider(to.rows),
                .of_pixel = Divider(by_pixels ? to.channels / V : to.channels)};
  std::copy_n(from.stride.begin(), 4, job.strides);
  return job;
}

// Copies what is to be copied, and says where x and the filters are then.
template <class T>
[[nodiscard]] static Status launch_copies(const Arguments& args, const Gathering& g, const void*& x, const void*& w) {
  if (!g.copies_image && !g.copies_filters) return {};
  const ConvProblem& p = args.plan.problem;
  char* workspace = static_cast<char*>(args.workspace);
  ImageCopies jobs{};
  int count = 0;
  if (g.copies_image) {
    jobs.job[count++] = copy_of(g.image, p.x, x, workspace, p.geometry.pad.top, p.geometry.pad.left);
    x = workspace;
  }
  if (g.copies_filters) {
    jobs.job[count++] = copy_of(g.filters, p.w, w, workspace + g.filters_at(), 0, 0);
    w = workspace + g.filters_at();
  }
  const unsigned units = std::max(jobs.job[0].units, jobs.job[1].units);
  const simt::Config at{
      .grid = dim3((units + copy_image_threads - 1) / copy_image_threads, static_cast<unsigned>(count)),
      .block = dim3(copy_image_threads),
      .stream = args.stream.handle};
  return simt::launch(at, copy_images<T>, jobs);
}

// y by TMA: rows of pixels that follow each other evenly, and nothing added but the bias.
static inline bool is_by_columns(const ConvProblem& p) {
  const Layout& y = p.y;
  const auto follows = [&](int axis, std::int64_t pitch) { return y.shape[axis] <= 1 || y.stride[axis] == pitch; };
  const std::int64_t pitch = y.shape[3] > 1 ? y.stride[3] : y.shape[2] > 1 ? y.stride[2] : y.stride[0];
  return p.alignment >= 16 && !p.residual && y.stride[1] == 1 && y.shape[1] % unit_elements == 0 &&
         is_regular(pixels_of(p), pitch) && follows(2, y.shape[3] * pitch) &&
         follows(0, y.shape[2] * y.shape[3] * pitch);
}

// Row: a config of gemm's kernel.
template <class Row, class T> [[nodiscard]] static Status launch_wgmma_row(const Arguments& args) {
  namespace sm90 = tile::sm90;
  namespace gemm = gemm_kernels;
  using K = gemm::WgmmaKernel<Row, T, gemm::Major::k, gemm::Major::k>;
  const ConvProblem& p = args.plan.problem;
  const Gathering g = gathering_of(p, K::c.bk);
  const void *x = args.x, *w = args.w;
  RIDGE_TRY(launch_copies<T>(args, g, x, w));

  ImageLoader loader{.image = {},
                     .filters = {},
                     .columns = Divider(p.y.shape[3]),
                     .rows = Divider(p.y.shape[2]),
                     .channels = whole(g.channels),
                     .taps_w = whole(g.w.taps),
                     .step_h = whole(g.h.step),
                     .step_w = whole(g.w.step),
                     .first_h = whole(g.h.first),
                     .first_w = whole(g.w.first),
                     .tap_h = whole(g.h.tap),
                     .tap_w = whole(g.w.tap)};
  RIDGE_TRY(sm90::make_image_map(&loader.image, x, dtype_of<T>,
                                 {.channels = g.channels,
                                  .w = {g.w.pixels, g.w.pitch},
                                  .h = {g.h.pixels, g.h.pitch},
                                  .n = {p.x.shape[0], g.image_pitch},
                                  .first_w = whole(g.w.first),
                                  .first_h = whole(g.h.first),
                                  .beyond_w = whole(g.w.beyond),
                                  .beyond_h = whole(g.h.beyond),
                                  .step_w = whole(g.w.step),
                                  .step_h = whole(g.h.step)},
                                 K::c.bm, K::c.line));
  RIDGE_TRY(sm90::make_tensor_map(&loader.filters, w, dtype_of<T>,
                                  {g.channels, p.w.shape[0], g.h.taps * g.w.taps, g.filter_pitch, g.tap_pitch},
                                  K::box_b, K::c.line));

  const AxisMap h = axis_h(p).forward(), v = axis_w(p).forward();
  const auto output = output_of<T, true>(epilogue_of<T>(args), pixels_of(h, v, p.x, p.y), h, v, static_cast<T*>(args.y),
                                         p.y, p.w.shape[0]);
  gemm::Store store = gemm::Store::epilogue;
  gemm::WgmmaOperand d;
  gemm::ColumnEpilogue by_columns;
  if (is_by_columns(p)) {
    store = gemm::Store::tma;
    d = {args.y, p.y.shape[3] > 1 ? p.y.stride[3] : p.y.shape[2] > 1 ? p.y.stride[2] : p.y.stride[0], 0};
    by_columns.activation = p.epilogue.activation;
    if (p.bias) by_columns.bias = {const_cast<void*>(args.bias), p.dtype, false, 0, p.bias->stride[0], 0};
    by_columns.plain = !p.bias && p.epilogue.activation == Activation::none;
  }
  return gemm::launch_wgmma<Row, T, gemm::Major::k, gemm::Major::k>(
      loader, store, d, {pixels_of(p), p.w.shape[0], 0, 1}, whole(g.steps(K::c.bk)), by_columns, output,
      args.plan.device.sms, args.stream);
}

template <class T, int I> constexpr auto wgmma_launcher() -> Status (*)(const Arguments&) {
  if constexpr (variants[I].config.method == Method::wgmma) return launch_wgmma_row<WgmmaRow<I>, T>;
  else return nullptr;  // launched elsewhere
}

template <class T, int... I>
[[nodiscard]] static Status launch_wgmma_table(const Arguments& args, std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Arguments&) = {wgmma_launcher<T, I>()...};
  return launchers[args.plan.variant](args);
}

}  // namespace ridge::conv_detail
