// validate -> fits -> cost -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/divider.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/pool/launch.hpp>
#include <ridge/pool/variants.hpp>
#include <ridge/roofline/predict.hpp>

#include <algorithm>
#include <cmath>

namespace ridge {

using namespace pool_detail;

std::string_view name(Pool function) { return function == Pool::max ? "max_pool2d" : "avg_pool2d"; }

static std::string text(const PoolPair& pair) { return std::to_string(pair.h) + "x" + std::to_string(pair.w); }

static Status validate(Pool function, const PoolWindow& window, std::int64_t h, std::int64_t w) {
  constexpr std::int64_t most = std::int64_t{1} << 30;  // sums of two of them never overflow
  const std::string_view op = name(function);
  const auto check = [&](const char* key, const PoolPair& pair, std::int64_t least) {
    if (std::min(pair.h, pair.w) >= least && std::max(pair.h, pair.w) < most) return Status{};
    return Status::invalid(op, key, text(pair), "from " + std::to_string(least) + " and below 2^30");
  };
  RIDGE_TRY(check("window", window.size, 1));
  RIDGE_TRY(check("stride", window.stride, 1));
  RIDGE_TRY(check("dilation", window.dilation, 1));
  RIDGE_TRY(check("pad", window.pad, 0));
  if (function == Pool::avg && window.dilation != PoolPair{})
    return Status::invalid(op, "dilation", text(window.dilation), "1: a mean has none");
  const PoolPair extent = window.extent();
  if (window.pad.h >= extent.h || window.pad.w >= extent.w)
    return Status::invalid(op, "pad", text(window.pad), "below the window's extent, " + text(extent));
  const PoolPair padded{h + 2 * window.pad.h, w + 2 * window.pad.w};
  if (padded.h < extent.h || padded.w < extent.w)
    return Status::invalid(op, "window", "of extent " + text(extent), "within the padded input, " + text(padded));
  return {};
}

// Reorders axes to n, c, h, w.
static Layout as_nchw(const Layout& given, PoolLayout layout) {
  if (layout == PoolLayout::nchw) return given;
  Layout t = given;
  constexpr int from[] = {0, 3, 1, 2};
  for (int axis = 0; axis < 4; ++axis) {
    t.shape[axis] = given.shape[from[axis]];
    t.stride[axis] = given.stride[from[axis]];
  }
  return t;
}

Result<std::vector<std::int64_t>> pool_shape(Pool function, const PoolWindow& window, PoolLayout layout,
                                             const Layout& x) {
  if (x.rank != 4)
    return Status::invalid(name(function), "x.shape", x.text(),
                           layout == PoolLayout::nchw ? "of 4 axes, n c h w" : "of 4 axes, n h w c");
  const Layout t = as_nchw(x, layout);
  RIDGE_TRY(check_extent(name(function), "x", x));
  RIDGE_TRY(validate(function, window, t.shape[2], t.shape[3]));
  const auto [oh, ow] = window.outputs(t.shape[2], t.shape[3]);
  if (layout == PoolLayout::nchw) return std::vector<std::int64_t>{t.shape[0], t.shape[1], oh, ow};
  return std::vector<std::int64_t>{t.shape[0], oh, ow, t.shape[1]};
}

Result<PoolProblem> PoolProblem::contiguous(Pool function, DType dtype, const PoolWindow& window, PoolLayout layout,
                                            std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  const Layout x = layout == PoolLayout::nchw ? Layout::contiguous({n, c, h, w}) : Layout::contiguous({n, h, w, c});
  auto shape = pool_shape(function, window, layout, x);
  if (!shape) return shape.error();
  return PoolProblem{function, dtype, window, layout, as_nchw(x, layout), as_nchw(Layout::contiguous(*shape), layout)};
}

Result<PoolProblem> PoolProblem::of(Pool function, const PoolWindow& window, PoolLayout layout, const TensorView& x,
                                    const TensorView& y) {
  const std::string_view op = name(function);
  auto shape = pool_shape(function, window, layout, x.layout);
  if (!shape) return shape.error();
  const Layout expected = Layout::contiguous(*shape);
  if (y.dtype != x.dtype)
    return Status::invalid(op, "y.dtype", std::string(name(y.dtype)), "that of x, " + std::string(name(x.dtype)));
  if (!y.layout.same_shape(expected)) return Status::invalid(op, "y.shape", y.layout.text(), expected.text());
  RIDGE_TRY(check_same_device(op, "y", y.device, "x", x.device));
  RIDGE_TRY(check_data(op, "x", x));
  RIDGE_TRY(check_data(op, "y", y));
  RIDGE_TRY(check_no_overlap(op, "y", y, "x", x));
  return PoolProblem{function,
                     x.dtype,
                     window,
                     layout,
                     as_nchw(x.layout, layout),
                     as_nchw(y.layout, layout),
                     alignment_of(x.data),
                     alignment_of(y.data)};
}

std::string PoolProblem::text() const {
  return std::string(name(dtype)) + " " + Layout::contiguous(std::span(x.shape.data(), 4)).text() +
         (layout == PoolLayout::nhwc ? " nhwc" : "") + " window " + ridge::text(window.size) + " stride " +
         ridge::text(window.stride) + " pad " + ridge::text(window.pad);
}

static Status validate(const PoolProblem& p) {
  const std::string_view op = name(p.function);
  if (!Types::contains(p.dtype)) return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  RIDGE_TRY(check_extent(op, "x", p.x));
  RIDGE_TRY(check_extent(op, "y", p.y));
  RIDGE_TRY(check_elements_apart(op, "y", p.y));
  return validate(p.function, p.window, p.x.shape[2], p.x.shape[3]);
}

// Whether a view of contiguous channels and all of its strides start on 16-byte vectors.
static bool channels_on_vectors(const Layout& t, DType dtype, int alignment) {
  const std::int64_t vector = vector_elements(dtype);
  for (int axis : {0, 2, 3})
    if (t.shape[axis] > 1 && t.stride[axis] % vector != 0) return false;
  return alignment >= vector_bytes;
}

// Why this row cannot run this problem; empty: it can.
static std::string fits(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  const PoolWindow& window = p.window;
  if (c.method == Method::naive) return {};
  if (std::max(p.x.shape[2], p.x.shape[3]) >= 1 << 30) return "a plane has a side of 2^30 or more";
  if (items_of(c, p) >= Divider::limit) return "more than 2^31 pieces of work";
  if (c.method == Method::shared) {
    // Above any device's shared memory: refused here, before sums of sizes could overflow.
    const PoolPair extent = window.extent();
    if (std::max({extent.h, extent.w, window.stride.h, window.stride.w}) > 1 << 12)
      return "the window's extent or stride is above 4,096";
    const std::int64_t bytes = 4 * shared_floats(c, window);
    if (bytes > device.smem_optin)
      return std::to_string(bytes) + " bytes of shared memory, and the device has " + std::to_string(device.smem_optin);
    return {};
  }
  const PoolPair size{c.size, c.size};
  if (c.size > 0 && (window.size != size || window.dilation != PoolPair{})) return "the window is not " + text(size);
  if (c.stride > 0 && window.stride != PoolPair{c.stride, c.stride})
    return "the stride is not " + std::to_string(c.stride);
  if (c.method == Method::channels) {
    if ((p.x.shape[1] > 1 && p.x.stride[1] != 1) || (p.y.shape[1] > 1 && p.y.stride[1] != 1))
      return "channels are not contiguous";
    if (p.x.shape[1] % vector_elements(p.dtype) != 0 || !channels_on_vectors(p.x, p.dtype, p.align_x) ||
        !channels_on_vectors(p.y, p.dtype, p.align_y))
      return "channels are not whole vectors of 16 bytes on 16-byte addresses";
    return {};
  }
  if (c.method == Method::column) return {};
  if (window.pad != PoolPair{c.pad, c.pad}) return "the padding is not " + std::to_string(c.pad);
  if ((p.x.shape[3] > 1 && p.x.stride[3] != 1) || (p.y.shape[3] > 1 && p.y.stride[3] != 1))
    return "a row's elements are not contiguous";
  if (!plane_pitch(p.x) || !plane_pitch(p.y)) return "planes are not evenly spaced";
  if (!vector_loads(p)) return "rows of x are not whole vectors of 16 bytes on 16-byte addresses";
  return {};
}

static double outputs_of(const PoolProblem& p) { return static_cast<double>(p.y.count()); }

static Cost cost(const PoolProblem& p) {
  const auto touched = [](std::int64_t size, std::int64_t outputs, std::int64_t taps) {
    return static_cast<double>(std::min(size, outputs * taps));
  };
  const double size = static_cast<double>(size_of(p.dtype));
  Cost c;
  c.bytes_read = static_cast<double>(p.x.shape[0] * p.x.shape[1]) *
                 touched(p.x.shape[2], p.y.shape[2], p.window.size.h) *
                 touched(p.x.shape[3], p.y.shape[3], p.window.size.w) * size;
  c.bytes_written = outputs_of(p) * size;
  // Along rows, then along columns: the fewest operations for any window.
  c.on(Unit::fp32) =
      outputs_of(p) * static_cast<double>(p.window.size.h + p.window.size.w - 2 + (p.function == Pool::avg ? 1 : 0));
  return c;
}

static roofline::Kernel kernel_of(const Variant& row, const PoolProblem& p, const DeviceInfo&) {
  const Config& c = row.config;
  const Cost least = cost(p);
  const double outputs = outputs_of(p), size = static_cast<double>(size_of(p.dtype));
  const double h = static_cast<double>(p.window.size.h), w = static_cast<double>(p.window.size.w), taps = h * w;
  roofline::Kernel k;
  k.cost = least;
  k.blocks = grid_of(c, p);
  k.block = {.threads = c.threads,
             .registers = registers(c),
             .smem = static_cast<int>(std::min<std::int64_t>(4 * shared_floats(c, p.window), 1 << 30))};
  k.bytes_read = least.bytes_read;
  k.bytes_written = least.bytes_written;
  const double threads = static_cast<double>(c.threads);
  // Instructions per output, counted in the source; four warps issue one each per clock.
  double instructions = 0;
  switch (c.method) {
    case Method::naive:
      instructions = 160 + 8 * taps;  // three 64-bit divisions
      k.trips = std::max(1.0, taps / 4);
      k.trip_bytes = threads * size * std::min(taps, 4.0);
      break;
    case Method::shared: {
      const double per_output = static_cast<double>(shared_floats(c, p.window)) / (c.rows * shared_columns);
      instructions = 20 * per_output + 6 * (per_output * w + h);
      k.block_us = 1;  // two barriers
      k.trip_bytes = threads * size * 2;
      break;
    }
    case Method::column: {
      const double loads = static_cast<double>(inputs_of(c.rows, c.stride, c.size)) * c.size;
      instructions = 10 + 6 * loads / c.rows;
      k.trip_bytes = threads * size * loads;
      break;
    }
    case Method::tile:
      instructions = 14 + (size == 2 ? 2 : 0);
      k.trip_bytes = threads * static_cast<double>(inputs_of(c.rows, c.stride, c.size)) * c.stride * vector_bytes;
      k.overlap = 6;
      break;
    case Method::channels:
      instructions = 6 + taps * (c.rows > 2 ? 1.2 : c.rows > 1 ? 1.7 : c.size > 0 ? 2.5 : 4);
      k.trips = c.size > 0 ? 1 : std::max(1.0, h * std::ceil(w / 4));
      k.l2_bytes = least.bytes_read;  // other blocks read neighbouring rows of windows
      if (c.rows > 1) {
        const double in_rows = static_cast<double>(inputs_of(c.rows, c.stride, c.size));
        k.trips = in_rows / (c.rows_in_flight + 1);
        k.l2_bytes *= in_rows / (c.rows * c.stride) - 1;
      }
      k.trip_bytes = threads * vector_bytes * std::min(taps, c.size > 0 ? 9.0 : 4.0);
      break;
  }
  k.clocks = outputs / 32 * instructions / 4;
  // Lanes are ordered along rows, which may not be contiguous: a sector for each element.
  const bool along_rows = c.method == Method::shared || c.method == Method::column ||
                          (c.method == Method::naive && p.layout == PoolLayout::nchw);
  if (along_rows && p.x.stride[3] != 1 && p.x.shape[3] > 1) k.memory_share = size / 32;
  return k;
}

static double predict_us(const Variant& row, const PoolProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p, device), device).us;
}

static Result<int> choose(const PoolProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      name(p.function), variants, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

Result<PoolPlan> plan_pool(const PoolProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const std::int64_t grid = grid_of(variants[*chosen].config, p);
  if (grid > max_grid)
    return Status::invalid(name(p.function), "y.shape", p.y.text(),
                           "of at most " + std::to_string(max_grid) + " blocks of " +
                               std::to_string(variants[*chosen].config.threads) + " outputs");
  return PoolPlan{p, device, *chosen, grid};
}

Explanation PoolPlan::explain() const {
  Explanation e;
  e.op = name(problem.function);
  e.problem = problem.text();
  e.variant = variants[variant].name;
  roofline::account(e, kernel_of(variants[variant], problem, device), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status PoolPlan::run(const TensorView& x, const TensorView& y, Stream stream) const {
  const std::string_view op = name(problem.function);
  auto given = PoolProblem::of(problem.function, problem.window, problem.layout, x, y);
  if (!given) return given.error();
  // A tensor may have a higher alignment than planned.
  given->align_x = std::min(given->align_x, problem.align_x);
  given->align_y = std::min(given->align_y, problem.align_y);
  if (*given != problem) return not_as_planned(op, given->text(), problem.text());
  RIDGE_TRY(check_device(op, x.device, device));
  if (grid == 0) return {};
  const Arguments args{*this, x.data, y.data, stream};
  return on_backend(device.id, [&](auto backend) {
    using Backend = decltype(backend);
    switch (problem.dtype) {
      case DType::f16: return launch_f16<Backend>(args);
      case DType::bf16: return launch_bf16<Backend>(args);
      default: return launch_f32<Backend>(args);
    }
  });
}

static void plan_and_run(Pool function, const PoolWindow& window, PoolLayout layout, const TensorView& x,
                         const TensorView& y, Stream stream) {
  run_cached(
      PoolProblem::of(function, window, layout, x, y), [](auto& p, auto& d) { return plan_pool(p, d); }, y.device,
      stream, [&](const PoolPlan& plan, Workspace) { return plan.run(x, y, stream); });
}

void max_pool2d(const TensorView& x, const TensorView& y, const PoolWindow& window, PoolLayout layout, Stream stream) {
  plan_and_run(Pool::max, window, layout, x, y, stream);
}
void avg_pool2d(const TensorView& x, const TensorView& y, const PoolWindow& window, PoolLayout layout, Stream stream) {
  plan_and_run(Pool::avg, window, layout, x, y, stream);
}

}  // namespace ridge
