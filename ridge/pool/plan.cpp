// validate -> fits -> model -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/images.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/pool/families.hpp>
#include <ridge/pool/launch.hpp>

#include <algorithm>

namespace ridge {

using namespace pool_detail;

std::string_view name(Pool function) {
  constexpr std::string_view names[] = {"max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"};
  return names[static_cast<int>(function)];
}

static constexpr std::int64_t most_along = std::int64_t{1} << 30;  // sums of two of them never overflow

static Status validate(Pool function, const PoolWindow& window, std::int64_t h, std::int64_t w) {
  const std::string_view op = name(function);
  const auto check = [&](const char* key, const auto& given, std::int64_t least, std::int64_t most, std::int64_t from) {
    if (least >= from && most < most_along) return Status{};
    return Status::invalid(op, key, text(given), "at least " + std::to_string(from) + " and below 2^30");
  };
  const auto check_pair = [&](const char* key, const PoolPair& pair) {
    return check(key, pair, std::min(pair.h, pair.w), std::max(pair.h, pair.w), 1);
  };
  const PoolPad& pad = window.pad;
  RIDGE_TRY(check_pair("window", window.size));
  RIDGE_TRY(check_pair("stride", window.stride));
  RIDGE_TRY(check_pair("dilation", window.dilation));
  const auto [least, most] = std::minmax({pad.top, pad.left, pad.bottom, pad.right});
  RIDGE_TRY(check("pad", pad, least, most, 0));
  if (function != Pool::max && window.dilation != PoolPair{})
    return Status::invalid(op, "dilation", text(window.dilation), "1: a mean has no dilation");
  const PoolPair extent = window.extent();
  if (std::max(pad.top, pad.bottom) >= extent.h || std::max(pad.left, pad.right) >= extent.w)
    return Status::invalid(op, "pad", text(pad), "below the window's extent, " + text(extent));
  const PoolPair padded{h + pad.top + pad.bottom, w + pad.left + pad.right};
  if (padded.h < extent.h || padded.w < extent.w)
    return Status::invalid(op, "window", "of extent " + text(extent), "within the padded input, " + text(padded));
  return {};
}

// Of adaptive pooling from h x w inputs.
static Status validate_adaptive(const PoolPair& outputs, std::int64_t h, std::int64_t w) {
  const std::string_view op = name(Pool::adaptive_avg);
  if (std::min(outputs.h, outputs.w) < 1 || std::max(outputs.h, outputs.w) >= most_along)
    return Status::invalid(op, "size", text(outputs), "at least 1 and below 2^30");
  if (std::max(h, w) >= most_along)
    return Status::invalid(op, "the size of a plane", text(PoolPair{h, w}), "below 2^30 along each side");
  return {};
}

Result<std::vector<std::int64_t>> pool_shape(Pool function, const PoolWindow& window, PoolLayout layout,
                                             const Layout& x) {
  if (x.rank != 4)
    return Status::invalid(name(function), "x.shape", x.text(),
                           layout == PoolLayout::nchw ? "of 4 axes, n c h w" : "of 4 axes, n h w c");
  const Layout t = as_nchw(x, layout == PoolLayout::nhwc);
  RIDGE_TRY(check_extent(name(function), "x", x));
  const bool adaptive = function == Pool::adaptive_avg;
  RIDGE_TRY(adaptive ? validate_adaptive(window.size, t.shape[2], t.shape[3])
                     : validate(function, window, t.shape[2], t.shape[3]));
  const auto [oh, ow] = adaptive ? window.size : window.outputs(t.shape[2], t.shape[3]);
  if (layout == PoolLayout::nchw) return std::vector<std::int64_t>{t.shape[0], t.shape[1], oh, ow};
  return std::vector<std::int64_t>{t.shape[0], oh, ow, t.shape[1]};
}

// A problem with its windows, from tensors of its shapes.
static PoolProblem problem_of(Pool function, DType dtype, const PoolWindow& window, PoolLayout layout, const Layout& x,
                              const Layout& y) {
  PoolProblem p{.function = function,
                .dtype = dtype,
                .window = window,
                .layout = layout,
                .x = as_nchw(x, layout == PoolLayout::nhwc),
                .y = as_nchw(y, layout == PoolLayout::nhwc)};
  if (function != Pool::adaptive_avg) return p;
  const std::int64_t h = p.x.shape[2], w = p.x.shape[3], oh = p.y.shape[2], ow = p.y.shape[3];
  p.window = {.size = {ceil_div(std::max<std::int64_t>(h, 1), oh), ceil_div(std::max<std::int64_t>(w, 1), ow)}};
  p.uneven = h == 0 || w == 0 || h % oh != 0 || w % ow != 0;
  if (!p.uneven) p.window.stride = p.window.size;
  return p;
}

Result<PoolProblem> PoolProblem::contiguous(Pool function, DType dtype, const PoolWindow& window, PoolLayout layout,
                                            std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  const Layout x = layout == PoolLayout::nchw ? Layout::contiguous({n, c, h, w}) : Layout::contiguous({n, h, w, c});
  auto shape = pool_shape(function, window, layout, x);
  if (!shape) return shape.error();
  return problem_of(function, dtype, window, layout, x, Layout::contiguous(*shape));
}

// What the shape of y says of adaptive windows; others are as given.
static PoolWindow asked_window(Pool function, const PoolWindow& window, PoolLayout layout, const Layout& y) {
  if (function != Pool::adaptive_avg || y.rank != 4) return window;
  const Layout t = as_nchw(y, layout == PoolLayout::nhwc);
  return {.size = {t.shape[2], t.shape[3]}};
}

Result<PoolProblem> PoolProblem::of(Pool function, const PoolWindow& window, PoolLayout layout, const TensorView& x,
                                    const TensorView& y) {
  const std::string_view op = name(function);
  auto shape = pool_shape(function, asked_window(function, window, layout, y.layout), layout, x.layout);
  if (!shape) return shape.error();
  const Layout expected = Layout::contiguous(*shape);
  if (y.dtype != x.dtype)
    return Status::invalid(op, "y.dtype", std::string(name(y.dtype)), "that of x, " + std::string(name(x.dtype)));
  if (!y.layout.same_shape(expected)) return Status::invalid(op, "y.shape", y.layout.text(), expected.text());
  RIDGE_TRY(check_same_device(op, "y", y.device, "x", x.device));
  RIDGE_TRY(check_data(op, "x", x));
  RIDGE_TRY(check_data(op, "y", y));
  RIDGE_TRY(check_no_overlap(op, "y", y, "x", x));
  PoolProblem p = problem_of(function, x.dtype, window, layout, x.layout, y.layout);
  p.align_x = alignment_of(x.data);
  p.align_y = alignment_of(y.data);
  return p;
}

Result<PoolProblem> PoolProblem::of_gradient(Pool function, const PoolWindow& window, PoolLayout layout,
                                             const PoolGradientTensors& t) {
  const std::string_view op = name(function);
  const TensorView &dy = t.dy, &dx = t.dx;
  auto shape = pool_shape(function, asked_window(function, window, layout, dy.layout), layout, dx.layout);
  if (!shape) return shape.error();
  const Layout expected = Layout::contiguous(*shape);
  if (!dy.layout.same_shape(expected)) return Status::invalid(op, "dy.shape", dy.layout.text(), expected.text());
  if (dx.dtype != dy.dtype)
    return Status::invalid(op, "dx.dtype", std::string(name(dx.dtype)), "that of dy, " + std::string(name(dy.dtype)));
  RIDGE_TRY(check_same_device(op, "dx", dx.device, "dy", dy.device));
  RIDGE_TRY(check_data(op, "dy", dy));
  RIDGE_TRY(check_data(op, "dx", dx));
  RIDGE_TRY(check_no_overlap(op, "dx", dx, "dy", dy));
  PoolProblem p = problem_of(function, dy.dtype, window, layout, dx.layout, dy.layout);
  p.backward = true;
  p.align_x = alignment_of(dx.data);
  p.align_y = alignment_of(dy.data);
  if (function != Pool::max) return p;
  if (!t.x || !t.y) return Status::invalid(op, t.x ? "y" : "x", "missing", "given: the maximum's gradient reads it");
  RIDGE_TRY(check_like(op, "x", *t.x, "dx", dx));
  RIDGE_TRY(check_like(op, "y", *t.y, "dy", dy));
  RIDGE_TRY(check_data(op, "x", *t.x));
  RIDGE_TRY(check_data(op, "y", *t.y));
  RIDGE_TRY(check_no_overlap(op, "dx", dx, "x", *t.x));
  RIDGE_TRY(check_no_overlap(op, "dx", dx, "y", *t.y));
  p.value_x = as_nchw(t.x->layout, layout == PoolLayout::nhwc);
  p.value_y = as_nchw(t.y->layout, layout == PoolLayout::nhwc);
  p.align_values = std::min(alignment_of(t.x->data), alignment_of(t.y->data));
  return p;
}

std::string PoolProblem::text() const {
  std::string s = std::string(name(dtype)) + " " + Layout::contiguous(std::span(x.shape.data(), 4)).text() +
                  (layout == PoolLayout::nhwc ? " nhwc" : "");
  if (function == Pool::adaptive_avg) s += " to " + pool_detail::text(PoolPair{y.shape[2], y.shape[3]});
  else
    s += " window " + pool_detail::text(window.size) + " stride " + pool_detail::text(window.stride) + " pad " +
         pool_detail::text(window.pad) + (window.ceil_mode ? " ceil_mode" : "");
  return s + (backward ? " backward" : "");
}

static Status validate(const PoolProblem& p) {
  const std::string_view op = name(p.function);
  if (!Types::contains(p.dtype)) return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  RIDGE_TRY(check_extent(op, p.backward ? "dx" : "x", p.x));
  RIDGE_TRY(check_extent(op, p.backward ? "dy" : "y", p.y));
  RIDGE_TRY(p.backward ? check_elements_apart(op, "dx", p.x) : check_elements_apart(op, "y", p.y));
  if (p.function == Pool::adaptive_avg)
    return validate_adaptive({p.y.shape[2], p.y.shape[3]}, p.x.shape[2], p.x.shape[3]);
  return validate(p.function, p.window, p.x.shape[2], p.x.shape[3]);
}

// ---- choose ------------------------------------------------------------------------------------------------------

static Result<int> choose(const PoolProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      name(p.function), variants, options, [&](const Variant& row) { return family_of(row).fits(row, p, device); },
      [&](const Variant& row) { return roofline::predict(family_of(row).model(row, p, device), device).us; }, record);
}

Result<PoolPlan> plan_pool(const PoolProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Variant& row = variants[*chosen];
  const std::int64_t grid = family_of(row).footprint(row, p, device).grid;
  if (grid > max_grid)
    return Status::invalid(
        name(p.function), p.backward ? "dx.shape" : "y.shape", (p.backward ? p.x : p.y).text(),
        "of at most " + std::to_string(max_grid) + " blocks of " + std::to_string(row.config.threads) + " elements");
  return PoolPlan{p, device, *chosen, grid};
}

Explanation PoolPlan::explain() const {
  const Variant& row = variants[variant];
  Explanation e;
  e.op = name(problem.function);
  e.problem = problem.text();
  e.variant = row.name;
  roofline::account(e, family_of(row).model(row, problem, device), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

// ---- run ---------------------------------------------------------------------------------------------------------

// Tensors may be aligned better than planned.
static Status check_planned(const PoolPlan& plan, Result<PoolProblem>& given, Device device) {
  if (!given) return given.error();
  const PoolProblem& planned = plan.problem;
  given->align_x = std::min(given->align_x, planned.align_x);
  given->align_y = std::min(given->align_y, planned.align_y);
  given->align_values = std::min(given->align_values, planned.align_values);
  if (*given != planned) return not_as_planned(name(planned.function), given->text(), planned.text());
  return check_device(name(planned.function), device, plan.device);
}

Status PoolPlan::run(const TensorView& x, const TensorView& y, Stream stream) const {
  auto given = PoolProblem::of(problem.function, problem.window, problem.layout, x, y);
  RIDGE_TRY(check_planned(*this, given, x.device));
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

Status PoolPlan::run_gradient(const PoolGradientTensors& t, Stream stream) const {
  auto given = PoolProblem::of_gradient(problem.function, problem.window, problem.layout, t);
  RIDGE_TRY(check_planned(*this, given, t.dy.device));
  if (grid == 0) return {};
  const bool values = problem.function == Pool::max;
  const GradientArguments args{*this,     t.dy.data, values ? t.x->data : nullptr, values ? t.y->data : nullptr,
                               t.dx.data, stream};
  return on_backend(device.id, [&](auto backend) {
    using Backend = decltype(backend);
    switch (problem.dtype) {
      case DType::f16: return launch_gradient_f16<Backend>(args);
      case DType::bf16: return launch_gradient_bf16<Backend>(args);
      default: return launch_gradient_f32<Backend>(args);
    }
  });
}

static constexpr auto planned = [](const PoolProblem& p, const DeviceInfo& d) { return plan_pool(p, d); };

static void plan_and_run(Pool function, const PoolWindow& window, PoolLayout layout, const TensorView& x,
                         const TensorView& y, Stream stream) {
  run_cached(PoolProblem::of(function, window, layout, x, y), planned, y.device, stream,
             [&](const PoolPlan& plan, Workspace) { return plan.run(x, y, stream); });
}
static void plan_and_run_gradient(Pool function, const PoolWindow& window, PoolLayout layout,
                                  const PoolGradientTensors& t, Stream stream) {
  run_cached(PoolProblem::of_gradient(function, window, layout, t), planned, t.dx.device, stream,
             [&](const PoolPlan& plan, Workspace) { return plan.run_gradient(t, stream); });
}

void max_pool2d(const TensorView& x, const TensorView& y, const PoolWindow& window, PoolLayout layout, Stream stream) {
  plan_and_run(Pool::max, window, layout, x, y, stream);
}
void avg_pool2d(const TensorView& x, const TensorView& y, const PoolWindow& window, PoolLayout layout, Stream stream) {
  plan_and_run(Pool::avg, window, layout, x, y, stream);
}
void adaptive_avg_pool2d(const TensorView& x, const TensorView& y, PoolLayout layout, Stream stream) {
  plan_and_run(Pool::adaptive_avg, {}, layout, x, y, stream);
}
void max_pool2d_gradient(const TensorView& dy, const TensorView& x, const TensorView& y, const TensorView& dx,
                         const PoolWindow& window, PoolLayout layout, Stream stream) {
  plan_and_run_gradient(Pool::max, window, layout, {.dy = dy, .x = x, .y = y, .dx = dx}, stream);
}
void avg_pool2d_gradient(const TensorView& dy, const TensorView& dx, const PoolWindow& window, PoolLayout layout,
                         Stream stream) {
  plan_and_run_gradient(Pool::avg, window, layout, {.dy = dy, .dx = dx}, stream);
}
void adaptive_avg_pool2d_gradient(const TensorView& dy, const TensorView& dx, PoolLayout layout, Stream stream) {
  plan_and_run_gradient(Pool::adaptive_avg, {}, layout, {.dy = dy, .dx = dx}, stream);
}

}  // namespace ridge
