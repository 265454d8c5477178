// Gradients on Hopper's tensor cores, by gemm's kernel (gemm/sm90_wgmma.cuh).
//
//   dx  for each phase of the stride (geometry.hpp) a convolution of dy: the image loader (sm90_image.cuh) meets the
//       filters' taps in reverse order, in a copy [taps, channels, filters]
//   dw  [filters, taps x channels] = the sum over pixels of dy [pixels, filters] times gathered x. Both operands are
//       contiguous across the sum (MN-major). It is split along the pixels; the parts' float32 sums are added in order.
#pragma once
#include <ridge/conv/sm90_copies.cuh>
#include <ridge/conv/sm90_gradient.hpp>
#include <ridge/conv/sm90_image.cuh>
#include <ridge/conv/sm90_output.cuh>

namespace ridge::conv_detail {

// A: a step is 64 pixels of dy. B: x where a tap meets the same pixels, 64 channels at a time, tap after tap.
template <bool Volume> struct FilterGradientLoader {
  tile::sm90::TensorMap dy, image;
  Divider columns, rows;                               // of a plane of y
  Divider groups, across;                              // groups of 64 channels of a tap; taps of a row
  int taps, channels, part;                            // part: pixels of a part of the sum
  int step_h, step_w, first_h, first_w, tap_h, tap_w;  // Walk
  LoaderDepth<Volume> depth;
  Divider down;  // rows of a slice of taps

  static constexpr int of_tile = filter_gradient_tile().bn / gradient_group;
  struct Place {
    int filter, pixel;
    // For each group: its first channel, past the last where dw has no such column; and its tap's offsets.
    int channel[of_tile], tap_w[of_tile], tap_h[of_tile];
    int tap_d[Volume ? of_tile : 1];
  };
  __device__ __forceinline__ void prefetch() const {
    tile::sm90::prefetch(&dy);
    tile::sm90::prefetch(&image);
  }
  __device__ __forceinline__ Place at(const gemm_kernels::WgmmaTile& tile) const {
    Place to{.filter = tile.row, .pixel = tile.batch * part, .channel = {}, .tap_w = {}, .tap_h = {}, .tap_d = {}};
#pragma unroll
    for (int g = 0; g < of_tile; ++g) {
      unsigned group = static_cast<unsigned>(tile.col / gradient_group + g), b = groups.divide(group);
      const bool there = b < static_cast<unsigned>(taps);
      unsigned a = across.divide(b);
      if constexpr (Volume) {
        const unsigned e = down.divide(a);
        to.tap_d[g] = there ? static_cast<int>(e) * depth.tap : 0;
      }
      to.channel[g] = there ? static_cast<int>(group) * gradient_group : channels;
      to.tap_w[g] = there ? static_cast<int>(b) * tap_w : 0;
      to.tap_h[g] = there ? static_cast<int>(a) * tap_h : 0;
    }
    return to;
  }
  // Pixels past the last are zeros in both operands.
  template <class K>
  __device__ __forceinline__ void load_next(Place& at, unsigned char* to_a, unsigned char* to_b,
                                            tile::sm90::Barrier* full, int /*rank*/) const {
    namespace sm90 = tile::sm90;
    static_assert(K::c.bk == gradient_group && K::c.bn == of_tile * gradient_group && K::axis_a == sm90::Axis::outer &&
                  K::axis_b == sm90::Axis::outer);
    sm90::arrive_and_expect_tx(full, K::bytes_a + K::bytes_b);
    for (int f = 0; f < K::c.bm; f += gradient_group)
      sm90::load(&dy, to_a + sm90::outer_offset(f), full, at.filter + f, at.pixel, 0);
    unsigned j = static_cast<unsigned>(at.pixel), i = columns.divide(j);
    unsigned l = rows.divide(i), n = l;
    if constexpr (Volume) n = depth.slices.divide(l);
    const int h = static_cast<int>(i) * step_h + first_h, w = static_cast<int>(j) * step_w + first_w;
#pragma unroll
    for (int g = 0; g < of_tile; ++g) {
      unsigned char* const to = to_b + sm90::outer_offset(g * gradient_group);
      if constexpr (Volume)
        sm90::load_volume(&image, to, full, at.channel[g], w, h, static_cast<int>(l) * depth.step + depth.first,
                          static_cast<int>(n), at.tap_w[g], at.tap_h[g], at.tap_d[g]);
      else sm90::load_image(&image, to, full, at.channel[g], w, h, static_cast<int>(n), at.tap_w[g], at.tap_h[g]);
    }
    at.pixel += gradient_group;
  }
};

// A: rows are pixels of all phases of the stride, each phase's `padded` rows apart, a multiple of a tile's. The walk is
// that of the phases' first pixels; where a phase's taps begin further on, they are offsets.
struct PhasesLoader : ImageLoader {
  Divider padded, across;  // rows of a phase; phases side by side
  AlikePhases phases;

  __device__ __forceinline__ Place at(const gemm_kernels::WgmmaTile& tile) const {
    unsigned pixel = static_cast<unsigned>(tile.row), b = padded.divide(pixel);
    const unsigned a = across.divide(b);
    gemm_kernels::WgmmaTile of_phase = tile;
    of_phase.row = static_cast<int>(pixel);
    Place to = ImageLoader::at(of_phase);
    to.tap += phases.tap[0][a] + phases.tap[1][b];
    to.offset_h = phases.offset[0][a];
    to.offset_w = to.first_offset_w = phases.offset[1][b];
    return to;
  }
};

// Stores vectors of dx's channels where a phase of the stride has them, or several phases, each `padded_rows` rows of
// the product apart. The epilogue is gemm's. Preconditions: those of ShuffledVectors.
template <class T> struct PhaseVectors {
  static constexpr bool stores_alone = true, stores_rows = true;

  Divider columns, rows;   // of a phase's plane
  Divider padded, across;  // rows of a phase; phases side by side
  int pixels, padded_rows;
  Windows<T> y;
  Windows<const T> residual;

  template <class Tensor> __device__ __forceinline__ std::int64_t row(const Tensor& of, unsigned at) const {
    unsigned j = at, b = padded.divide(j), i = columns.divide(j);
    const unsigned a = across.divide(b), n = rows.divide(i);
    return n * of.n + i * of.i + j * of.j + a * of.a + b * of.b;
  }
  template <class Tensor> __device__ __forceinline__ std::int64_t column(const Tensor&, unsigned at) const {
    return at;
  }
  __device__ __forceinline__ unsigned bias_column(unsigned col) const { return col; }
  // The rows of a tile are of one phase.
  template <int N>
  __device__ __forceinline__ VectorRows<T, N, PhaseVectors> rows_at(unsigned char* staging, int row, int col, int m,
                                                                    int n) const {
    const int first = static_cast<int>(padded(static_cast<unsigned>(row))) * padded_rows;
    return {*this, staging, row, col, ::min(m, first + pixels), n};
  }
};

// Stores the sums of one part to [part][filters][taps][channels]. Precondition: channels are whole vectors.
struct FilterGradientPartial {
  static constexpr bool stores_alone = true;

  float* partial;
  Divider groups;
  std::int64_t filters, taps;
  int channels;

  template <int V> __device__ __forceinline__ void operator()(simt::vec<float, V> sums, gemm_kernels::At at) const {
    unsigned group = static_cast<unsigned>(at.col / gradient_group);
    const std::int64_t tap = groups.divide(group);
    const int channel = static_cast<int>(group) * gradient_group + static_cast<int>(at.col % gradient_group);
    if (channel < channels)
      simt::store(partial + ((at.batch * filters + at.row) * taps + tap) * channels + channel, sums);
  }
};

// ---- launch

// Policies of gemm's kernel, and of the kernel that adds the parts up.
struct FilterGradientPolicy {
  static constexpr gemm_kernels::Config config = filter_gradient_tile();
};
struct AddPartsPolicy {
  static constexpr Config config = {.threads = 256};
};

namespace wgmma {

// Copies the filters to [taps, channels, filters]: transposes each tap's [filters, channels].
template <class T> [[nodiscard]] static Status launch_transposed_filters(const Arguments& args) {
  const ConvProblem& p = args.plan.problem;
  const std::int64_t channels = p.w.shape[1], filters = p.w.shape[0];
  const std::int64_t tap_stride = p.w.shape[3] > 1 ? p.w.stride[3] : p.w.stride[2];
  const std::int64_t tiles = ceil_div(channels, transpose_pixels),
                     lines = ceil_div(filters, transpose_line / int{sizeof(T)});
  ImageCopies copies{.job = {}, .blocks = static_cast<unsigned>(taps_of(p) * tiles * lines)};
  copies.job[0] = {.from = args.w,
                   .to = args.workspace,
                   .strides = {tap_stride, p.w.stride[0], 0, p.w.stride[1]},
                   .channels = whole(filters),
                   .height = 1,
                   .width = whole(channels),
                   .top = 0,
                   .left = 0,
                   .copied_channels = whole(filters),
                   .transposes = true,
                   .vectors = copies.blocks,
                   .row_vectors = 0,
                   .by_pixels = false,
                   .columns = Divider(tiles),
                   .rows = Divider(lines),
                   .of_pixel = {}};
  const simt::Config at{.grid = dim3(copies.blocks), .block = dim3(copy_image_threads), .stream = args.stream.handle};
  return simt::launch(at, copy_images<T>, copies);
}

// The problem of one phase of the stride: it gathers from dy, with a filter for each channel of x.
static inline ConvProblem problem_of_phase(const ConvProblem& p, const AxisMap& h, const AxisMap& w) {
  ConvProblem q = p;
  q.x = p.y;
  q.w.shape[0] = p.w.shape[1];
  q.y = *p.dx;
  q.y.shape[2] = h.outputs;
  q.y.shape[3] = w.outputs;
  q.y.stride[2] *= h.output_pitch;
  q.y.stride[3] *= w.output_pitch;
  return q;
}

// The store of `phases` phases of the stride, of q's pixels each, which begin with that of h and w.
template <class T>
static PhaseVectors<T> phase_vectors(const Arguments& args, const ConvProblem& q, const AxisMap& h, const AxisMap& w,
                                     std::int64_t padded_rows, int phases_across) {
  const ConvProblem& p = args.plan.problem;
  const auto first = [&](const Layout& t) { return h.first_output * t.stride[2] + w.first_output * t.stride[3]; };
  PhaseVectors<T> to{.columns = Divider(q.y.shape[3]),
                     .rows = Divider(q.y.shape[2]),
                     .padded = Divider(padded_rows),
                     .across = Divider(phases_across),
                     .pixels = whole(pixels_of(q)),
                     .padded_rows = whole(padded_rows),
                     .y = windows_of(p, *p.dx, static_cast<T*>(args.dx) + first(*p.dx)),
                     .residual = {}};
  if (p.residual) to.residual = windows_of(p, *p.residual, static_cast<const T*>(args.residual) + first(*p.residual));
  return to;
}

// dx for all phases of the stride in one launch. Preconditions: they are alike; has_vectors_of_dx().
template <class Policy, class T>
[[nodiscard]] static Status launch_alike_phases(const Arguments& args, const AlikePhases& phases) {
  namespace gemm = gemm_kernels;
  using K = gemm::WgmmaKernel<Policy, T, gemm::Major::k, gemm::Major::k>;
  const ConvProblem& p = args.plan.problem;
  const auto [h, w] = phases.least;
  const Gathering g = gradient_gathering(p, h, w);
  const ConvProblem q = problem_of_phase(p, h, w);
  const std::int64_t padded_rows = padded_pixels_of_phase(K::c, pixels_of(q)), channels = p.w.shape[1];
  PhasesLoader loader;
  RIDGE_TRY(make_loader(loader, q, g, args.dy, args.workspace, q.dtype, K::c.bm, K::box_b, K::c.line));
  loader.padded = Divider(padded_rows);
  loader.across = Divider(phases.phases[1]);
  loader.phases = phases;
  // Phases are in the order of dx's elements.
  const AxisMap first_h = axis_h(p).gradient(0), first_w = axis_w(p).gradient(0);
  const auto output = phase_vectors<T>(args, q, first_h, first_w, padded_rows, phases.phases[1]);
  return gemm::launch_wgmma<Policy, T, gemm::Major::k, gemm::Major::k>(
      loader, gemm::WgmmaOutput{}, {padded_rows * phases.phases[0] * phases.phases[1], channels, 0, 1},
      whole(g.steps(K::c.bk)), column_epilogue(args), output, args.plan.device.sms, args.stream);
}

// dx for one phase of the stride, with the epilogue of a transposed convolution, by gemm's kernel. Precondition: the
// phase has elements.
template <class Policy, class T>
[[nodiscard]] static Status launch_input_phase(const Arguments& args, const AxisMap& h, const AxisMap& w) {
  namespace gemm = gemm_kernels;
  using K = gemm::WgmmaKernel<Policy, T, gemm::Major::k, gemm::Major::k>;
  const ConvProblem& p = args.plan.problem;
  const std::int64_t channels = p.w.shape[1];
  const Gathering g = gradient_gathering(p, h, w);
  const ConvProblem q = problem_of_phase(p, h, w);
  const Layout& dx = *p.dx;
  ImageLoader loader;
  RIDGE_TRY(make_loader(loader, q, g, args.dy, args.workspace, q.dtype, K::c.bm, K::box_b, K::c.line));
  T* to = static_cast<T*>(args.dx) + h.first_output * dx.stride[2] + w.first_output * dx.stride[3];
  const auto output =
      output_of<T, true>(epilogue_of<T>(args, h, w), pixels_of(h, w, p.y, q.y), h, w, to, q.y, channels);
  const bool whole_image = p.geometry.stride.h * p.geometry.stride.w == 1;
  if (!whole_image && has_vectors_of_dx(p))
    return gemm::launch_wgmma<Policy, T, gemm::Major::k, gemm::Major::k>(
        loader, gemm::WgmmaOutput{}, {pixels_of(q), channels, 0, 1}, whole(g.steps(K::c.bk)), column_epilogue(args),
        phase_vectors<T>(args, q, h, w, padded_pixels_of_phase(K::c, pixels_of(q)), 1), args.plan.device.sms,
        args.stream);
  const PixelOutput out = whole_image ? pixel_output<T>(K::c, args, to, q.y) : PixelOutput{};
  return gemm::launch_wgmma<Policy, T, gemm::Major::k, gemm::Major::k>(
      loader, out.store, {pixels_of(q), channels, 0, 1}, whole(g.steps(K::c.bk)), out.epilogue, output,
      args.plan.device.sms, args.stream);
}

template <class Policy, class T> [[nodiscard]] static Status launch_input_gradient(const Arguments& args) {
  RIDGE_TRY(launch_transposed_filters<T>(args));
  if (const AlikePhases phases = alike_phases(args.plan.problem); phases.exist && has_vectors_of_dx(args.plan.problem))
    return launch_alike_phases<Policy, T>(args, phases);
  const Axis axis_of_h = axis_h(args.plan.problem), axis_of_w = axis_w(args.plan.problem);
  for (std::int64_t i = 0; i < axis_of_h.stride; ++i)
    for (std::int64_t j = 0; j < axis_of_w.stride; ++j) {
      const AxisMap h = axis_of_h.gradient(i), w = axis_of_w.gradient(j);
      if (h.outputs > 0 && w.outputs > 0) RIDGE_TRY((launch_input_phase<Policy, T>(args, h, w)));
    }
  return {};
}

// dw; its parts pass through the workspace.
template <class T, bool Volume = false> [[nodiscard]] static Status launch_filter_gradient(const Arguments& args) {
  using Policy = FilterGradientPolicy;
  namespace gemm = gemm_kernels;
  namespace sm90 = tile::sm90;
  using K = gemm::WgmmaKernel<Policy, T, gemm::Major::outer, gemm::Major::outer>;
  const ConvProblem& p = args.plan.problem;
  const std::int64_t filters = p.w.shape[0], channels = p.w.shape[1], taps = taps_of(p), pixels = pixels_of(p);
  const std::int64_t parts = args.plan.split, steps = ceil_div(ceil_div(pixels, gradient_group), parts);
  Gathering g;
  if (!gather_in_place(g, p))
    return Status::error(Code::unsupported,
                         "conv2d: this variant does not take such strides of x");  // refused by fits()
  ImageLoaderIn<Volume> walk;
  RIDGE_TRY(make_loader(walk, p, g, args.x, nullptr, p.dtype, gradient_group, 1, K::c.line));
  FilterGradientLoader<Volume> loader{.dy = {},
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
                                      .tap_w = walk.tap_w,
                                      .depth = walk.depth,
                                      .down = Divider(p.w.shape[2])};
  RIDGE_TRY(sm90::make_tensor_map(&loader.dy, args.dy, p.dtype, {filters, pixels, 1, pixel_pitch(p.y), 0}, K::c.bk));
  float* partial = reinterpret_cast<float*>(static_cast<char*>(args.workspace) + transposed_filter_bytes(p));
  const FilterGradientPartial output{partial, loader.groups, filters, taps, whole(channels)};
  RIDGE_TRY((gemm::launch_wgmma<Policy, T, gemm::Major::outer, gemm::Major::outer>(
      loader, gemm::WgmmaOutput{}, {filters, filter_gradient_columns(p), 0, parts}, whole(steps),
      gemm::ColumnEpilogue{}, output, args.plan.device.sms, args.stream)));
  const Layout& dw = *p.dw;
  const TapsIn<Volume> order = taps_in<true, Volume>(forward_maps(p), p.x, dw, channels, dw.stride[1]);
  constexpr int threads = AddPartsPolicy::config.threads;
  return simt::launch(launch_config(args, threads, ceil_div(filters * taps * channels, threads)),
                      conv_add_parts<AddPartsPolicy, T, true, Volume>, static_cast<const float*>(partial),
                      static_cast<T*>(args.dw), whole(parts), filters, whole(taps * channels), order, dw.stride[0]);
}

// The gradients that are asked for; Policy: that of dx's products.
template <class Policy, class T> [[nodiscard]] static Status launch_gradient(const Arguments& args) {
  const ConvProblem& p = args.plan.problem;
  if (has_dx(p)) RIDGE_TRY((launch_input_gradient<Policy, T>(args)));
  return has_dw(p) ? launch_filter_gradient<T>(args) : Status{};
}

}  // namespace wgmma
}  // namespace ridge::conv_detail
