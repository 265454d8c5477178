// validate -> fits -> model -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/images.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/upsample/families.hpp>
#include <ridge/upsample/launch.hpp>

#include <algorithm>

namespace ridge {

using namespace upsample_detail;

static constexpr std::string_view op = "upsample";

std::string_view name(Interpolation mode) {
  constexpr std::string_view names[] = {"nearest", "nearest_exact", "bilinear"};
  return names[static_cast<int>(mode)];
}

Result<UpsampleProblem> UpsampleProblem::contiguous(const Upsampling& how, DType dtype, std::int64_t n, std::int64_t c,
                                                    std::int64_t h, std::int64_t w, std::int64_t oh, std::int64_t ow) {
  const auto tensor = [&](const char* argument, std::int64_t rows, std::int64_t columns) -> Result<Layout> {
    RIDGE_TRY(check_sizes(op, argument, {n, c, rows, columns}));
    const Layout t = how.layout == UpsampleLayout::nchw ? Layout::contiguous({n, c, rows, columns})
                                                        : Layout::contiguous({n, rows, columns, c});
    return as_nchw(t, how.layout == UpsampleLayout::nhwc);
  };
  auto x = tensor("x.shape", h, w), y = tensor("y.shape", oh, ow);
  if (!x) return x.error();
  if (!y) return y.error();
  return UpsampleProblem{.how = how, .dtype = dtype, .x = *x, .y = *y};
}

// x and y, or dx and dy, by these names.
static Result<UpsampleProblem> problem_of(const Upsampling& how, bool backward, const TensorView& x,
                                          const TensorView& y) {
  const char* const names[] = {backward ? "dx" : "x", backward ? "dy" : "y"};
  const TensorView* const views[] = {&x, &y};
  for (int i = 0; i < 2; ++i) {
    if (views[i]->rank() != 4)
      return Status::invalid(op, std::string(names[i]) + ".shape", views[i]->layout.text(),
                             how.layout == UpsampleLayout::nchw ? "of 4 axes, n c h w" : "of 4 axes, n h w c");
    RIDGE_TRY(check_data(op, names[i], *views[i]));
  }
  // What is written is held against what is read.
  const int in = backward ? 1 : 0, out = 1 - in;
  const TensorView &from = *views[in], &to = *views[out];
  if (to.dtype != from.dtype)
    return Status::invalid(op, std::string(names[out]) + ".dtype", std::string(name(to.dtype)),
                           "that of " + std::string(names[in]) + ", " + std::string(name(from.dtype)));
  const bool channels_last = how.layout == UpsampleLayout::nhwc;
  const Layout a = as_nchw(from.layout, channels_last), b = as_nchw(to.layout, channels_last);
  if (a.shape[0] != b.shape[0] || a.shape[1] != b.shape[1])
    return Status::invalid(op, std::string(names[out]) + ".shape", to.layout.text(),
                           "of as many images and channels as " + std::string(names[in]) + ", " + from.layout.text());
  RIDGE_TRY(check_same_device(op, names[out], to.device, names[in], from.device));
  RIDGE_TRY(check_no_overlap(op, names[out], to, names[in], from));
  return UpsampleProblem{how,
                         backward,
                         x.dtype,
                         as_nchw(x.layout, how.layout == UpsampleLayout::nhwc),
                         as_nchw(y.layout, how.layout == UpsampleLayout::nhwc),
                         alignment_of(x.data),
                         alignment_of(y.data)};
}

Result<UpsampleProblem> UpsampleProblem::of(const Upsampling& how, const TensorView& x, const TensorView& y) {
  return problem_of(how, false, x, y);
}
Result<UpsampleProblem> UpsampleProblem::of_gradient(const Upsampling& how, const TensorView& dy,
                                                     const TensorView& dx) {
  return problem_of(how, true, dx, dy);
}

std::string UpsampleProblem::text() const {
  return std::string(name(dtype)) + " " + Layout::contiguous(std::span(x.shape.data(), 4)).text() + " to " +
         std::to_string(y.shape[2]) + "x" + std::to_string(y.shape[3]) + " " + std::string(name(how.mode)) +
         (how.align_corners ? " with aligned corners" : "") + (how.layout == UpsampleLayout::nhwc ? " nhwc" : "") +
         (backward ? " backward" : "");
}

static Status validate(const UpsampleProblem& p) {
  const char *x = p.backward ? "dx" : "x", *y = p.backward ? "dy" : "y";
  if (Copies::contains(p.dtype)) {
    if (p.how.mode == Interpolation::bilinear || p.backward)
      return Status::invalid(op, "dtype", std::string(name(p.dtype)),
                             std::string("one of f32 f16 bf16 for ") + (p.backward ? "a gradient" : "means"));
  } else if (!Means::contains(p.dtype)) {
    return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16 i8 u8");
  }
  if (p.how.align_corners && p.how.mode != Interpolation::bilinear)
    return Status::invalid(op, "align_corners", "1", "0 with mode " + std::string(name(p.how.mode)));
  RIDGE_TRY(check_extent(op, x, p.x));
  RIDGE_TRY(check_extent(op, y, p.y));
  for (const auto& [argument, t] : {std::pair{x, &p.x}, std::pair{y, &p.y}})
    if (std::max(t->shape[2], t->shape[3]) >= 1 << 30)
      return Status::invalid(op, std::string(argument) + ".shape", t->text(), "of sides below 2^30");
  if (p.x.count() == 0 && p.y.count() > 0)
    return Status::invalid(op, std::string(x) + ".shape", p.x.text(),
                           "of at least one row and column: " + std::string(y) + " has pixels");
  return check_elements_apart(op, p.backward ? x : y, written(p));
}

// ---- choose ------------------------------------------------------------------------------------------------------

static Result<int> choose(const UpsampleProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, variants, options, [&](const Variant& row) { return family_of(row).fits(row, p, device); },
      [&](const Variant& row) { return roofline::predict(family_of(row).model(row, p, device), device).us; }, record);
}

Result<UpsamplePlan> plan_upsample(const UpsampleProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Variant& row = variants[*chosen];
  // A plane without columns has rows, which would be counted where nothing is written.
  const std::int64_t grid = written(p).count() == 0 ? 0 : family_of(row).footprint(row, p, device).grid;
  if (grid > max_grid)
    return Status::invalid(
        op, p.backward ? "dx.shape" : "y.shape", written(p).text(),
        "of at most " + std::to_string(max_grid) + " blocks of " + std::to_string(row.config.threads) + " elements");
  return UpsamplePlan{p, device, *chosen, grid};
}

Explanation UpsamplePlan::explain() const {
  const Variant& row = variants[variant];
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = row.name;
  roofline::account(e, family_of(row).model(row, problem, device), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

// ---- run ---------------------------------------------------------------------------------------------------------

static Status run_planned(const UpsamplePlan& plan, Result<UpsampleProblem> given, const TensorView& in,
                          const TensorView& out, Stream stream) {
  const UpsampleProblem& expected = plan.problem;
  if (!given) return given.error();
  // A tensor may have a higher alignment than planned.
  given->align_x = std::min(given->align_x, expected.align_x);
  given->align_y = std::min(given->align_y, expected.align_y);
  if (*given != expected) return not_as_planned(op, given->text(), expected.text());
  RIDGE_TRY(check_device(op, in.device, plan.device));
  if (plan.grid == 0) return {};
  const Arguments args{plan, in.data, out.data, stream};
  return on_backend(plan.device.id, [&](auto backend) {
    using Backend = decltype(backend);
    switch (expected.dtype) {
      case DType::f16: return launch_f16<Backend>(args);
      case DType::bf16: return launch_bf16<Backend>(args);
      case DType::f32: return launch_f32<Backend>(args);
      default: return launch_bytes<Backend>(args);
    }
  });
}

Status UpsamplePlan::run(const TensorView& x, const TensorView& y, Stream stream) const {
  return run_planned(*this, UpsampleProblem::of(problem.how, x, y), x, y, stream);
}
Status UpsamplePlan::run_gradient(const TensorView& dy, const TensorView& dx, Stream stream) const {
  return run_planned(*this, UpsampleProblem::of_gradient(problem.how, dy, dx), dy, dx, stream);
}

static constexpr auto planned = [](const UpsampleProblem& p, const DeviceInfo& d) { return plan_upsample(p, d); };

void upsample(const TensorView& x, const TensorView& y, const Upsampling& how, Stream stream) {
  run_cached(UpsampleProblem::of(how, x, y), planned, y.device, stream,
             [&](const UpsamplePlan& plan, Workspace) { return plan.run(x, y, stream); });
}
void upsample_gradient(const TensorView& dy, const TensorView& dx, const Upsampling& how, Stream stream) {
  run_cached(UpsampleProblem::of_gradient(how, dy, dx), planned, dx.device, stream,
             [&](const UpsamplePlan& plan, Workspace) { return plan.run_gradient(dy, dx, stream); });
}

}  // namespace ridge
