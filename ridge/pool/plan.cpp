// validate -> fits -> model -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/pool/families.hpp>
#include <ridge/pool/launch.hpp>

#include <algorithm>

namespace ridge {

using namespace pool_detail;

std::string_view name(Pool function) { return function == Pool::max ? "max_pool2d" : "avg_pool2d"; }

static Status validate(Pool function, const PoolWindow& window, std::int64_t h, std::int64_t w) {
  constexpr std::int64_t most = std::int64_t{1} << 30;  // sums of two of them never overflow
  const std::string_view op = name(function);
  const auto check = [&](const char* key, const PoolPair& pair, std::int64_t least) {
    if (std::min(pair.h, pair.w) >= least && std::max(pair.h, pair.w) < most) return Status{};
    return Status::invalid(op, key, text(pair), "at least " + std::to_string(least) + " and below 2^30");
  };
  RIDGE_TRY(check("window", window.size, 1));
  RIDGE_TRY(check("stride", window.stride, 1));
  RIDGE_TRY(check("dilation", window.dilation, 1));
  RIDGE_TRY(check("pad", window.pad, 0));
  if (function == Pool::avg && window.dilation != PoolPair{})
    return Status::invalid(op, "dilation", text(window.dilation), "1: a mean has no dilation");
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
         (layout == PoolLayout::nhwc ? " nhwc" : "") + " window " + pool_detail::text(window.size) + " stride " +
         pool_detail::text(window.stride) + " pad " + pool_detail::text(window.pad);
}

static Status validate(const PoolProblem& p) {
  const std::string_view op = name(p.function);
  if (!Types::contains(p.dtype)) return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  RIDGE_TRY(check_extent(op, "x", p.x));
  RIDGE_TRY(check_extent(op, "y", p.y));
  RIDGE_TRY(check_elements_apart(op, "y", p.y));
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
        name(p.function), "y.shape", p.y.text(),
        "of at most " + std::to_string(max_grid) + " blocks of " + std::to_string(row.config.threads) + " outputs");
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
