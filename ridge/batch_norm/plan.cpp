// validate -> fits -> model -> choose. Pure: no CUDA call, no global.
#include <ridge/batch_norm/families.hpp>
#include <ridge/batch_norm/launch.hpp>
#include <ridge/core/check_data.hpp>
#include <ridge/core/images.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>

#include <algorithm>
#include <cmath>

namespace ridge {

using namespace batch_norm_detail;

std::string_view name(BatchNorm function) {
  constexpr std::string_view names[] = {"batch_norm", "batch_norm_stats", "batch_norm_train"};
  return names[static_cast<int>(function)];
}

// x and y as [n, c, h, w], their spatial axes merged as far as both allow.
static Status canonical(std::string_view op, BatchNormLayout layout, Layout& x, Layout& y) {
  Layout both[] = {x, y};
  RIDGE_TRY(as_images(op, layout == BatchNormLayout::nhwc, both));
  x = both[0];
  y = both[1];
  return {};
}

BatchNormProblem BatchNormProblem::contiguous(BatchNorm function, DType dtype, BatchNormLayout layout, std::int64_t n,
                                              std::int64_t c, std::int64_t spatial) {
  BatchNormProblem p{.function = function, .layout = layout, .dtype = dtype};
  p.x = layout == BatchNormLayout::nchw ? Layout::contiguous({n, c, spatial}) : Layout::contiguous({n, spatial, c});
  p.y = p.x;
  if (function == BatchNorm::stats) p.eps = 0, p.gamma = p.beta = false;
  (void)canonical(name(function), layout, p.x, p.y);  // three contiguous axes always merge
  return p;
}

Result<BatchNormProblem> BatchNormProblem::of(BatchNorm function, BatchNormLayout layout, const BatchNormTensors& t,
                                              float eps) {
  const std::string_view op = name(function);
  const TensorView &x = t.x, &y = function == BatchNorm::stats ? t.x : t.y;
  if (y.dtype != x.dtype)
    return Status::invalid(op, "y.dtype", std::string(name(y.dtype)), "that of x, " + std::string(name(x.dtype)));
  if (!y.layout.same_shape(x.layout))
    return Status::invalid(op, "y.shape", y.layout.text(), "that of x, " + x.layout.text());
  RIDGE_TRY(check_data(op, "x", x));
  BatchNormProblem p{.function = function, .layout = layout, .eps = eps, .dtype = x.dtype};
  if (function == BatchNorm::stats) p.eps = 0;
  p.x = x.layout;
  p.y = y.layout;
  RIDGE_TRY(canonical(op, layout, p.x, p.y));
  const std::int64_t channels = p.x.shape[1];
  const auto parameter = [&](const TensorView& view, const char* label, bool output) -> Status {
    if (view.rank() != 1 || view.size(0) != channels)
      return Status::invalid(op, std::string(label) + ".shape", view.layout.text(), std::to_string(channels));
    if (view.dtype != DType::f32 && (output || view.dtype != x.dtype))
      return Status::invalid(
          op, std::string(label) + ".dtype", std::string(name(view.dtype)),
          output || x.dtype == DType::f32 ? "f32" : "f32 or that of x, " + std::string(name(x.dtype)));
    RIDGE_TRY(check_same_device(op, label, view.device, "x", x.device));
    RIDGE_TRY(check_data(op, label, view));
    if (output) RIDGE_TRY(check_elements_apart(op, label, view.layout));
    p.aligned_parameters = p.aligned_parameters && view.dtype == DType::f32 && (channels == 1 || view.stride(0) == 1) &&
                           alignment_of(view.data) >= vector_bytes;
    return {};
  };
  const bool computed = function != BatchNorm::inference;
  RIDGE_TRY(parameter(t.mean, "mean", computed));
  RIDGE_TRY(parameter(t.var, "var", computed));
  p.gamma = p.beta = false;
  if (function != BatchNorm::stats) {
    p.gamma = t.gamma.has_value();
    p.beta = t.beta.has_value();
    if (t.gamma) RIDGE_TRY(parameter(*t.gamma, "gamma", false));
    if (t.beta) RIDGE_TRY(parameter(*t.beta, "beta", false));
    RIDGE_TRY(check_same_device(op, "y", y.device, "x", x.device));
    RIDGE_TRY(check_data(op, "y", y));
    RIDGE_TRY(check_no_partial_overlap(op, "y", y, "x", x));
  }
  // Outputs may overlap nothing else.
  struct Named {
    const TensorView* view;
    const char* label;
  };
  std::vector<Named> written, others{{&t.mean, "mean"}, {&t.var, "var"}};
  if (t.gamma && p.gamma) others.push_back({&*t.gamma, "gamma"});
  if (t.beta && p.beta) others.push_back({&*t.beta, "beta"});
  if (function != BatchNorm::stats) written.push_back({&y, "y"});
  if (computed) {
    others.push_back({&x, "x"});
    written.push_back({&t.mean, "mean"});
    written.push_back({&t.var, "var"});
  }
  for (const Named& out : written)
    for (const Named& other : others)
      if (out.view != other.view && !(out.view == &y && other.view == &x) && share_memory(*out.view, *other.view))
        return Status::invalid(op, out.label, std::string("overlapping ") + other.label, "apart from it");
  p.align_x = alignment_of(x.data);
  p.align_y = alignment_of(y.data);
  return p;
}

std::string BatchNormProblem::text() const {
  return std::string(name(dtype)) + " " + Layout::contiguous(std::span(x.shape.data(), 4)).text() +
         (layout == BatchNormLayout::nhwc ? " nhwc" : "");
}

static Status validate(const BatchNormProblem& p) {
  const std::string_view op = name(p.function);
  if (!Types::contains(p.dtype)) return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  if (!std::isfinite(p.eps)) return Status::invalid(op, "eps", number_text(p.eps), "finite");
  RIDGE_TRY(check_extent(op, "x", p.x));
  RIDGE_TRY(check_extent(op, "y", p.y));
  if (p.function != BatchNorm::stats) RIDGE_TRY(check_elements_apart(op, "y", p.y));
  if (p.function != BatchNorm::inference && per_channel(p.x) >= Divider::limit)
    return Status::invalid(op, "x.shape", Layout::contiguous(std::span(p.x.shape.data(), 4)).text(),
                           "of fewer than 2^31 elements per channel");
  return {};
}

// ---- choose ------------------------------------------------------------------------------------------------------

// Both kernels, one after the other, if the function has both.
static roofline::Kernel model_of(const BatchNormPlan& plan) {
  const BatchNormProblem& p = plan.problem;
  const DeviceInfo& device = plan.device;
  const ApplyVariant& apply = apply_variants[plan.apply_variant];
  if (p.function == BatchNorm::inference) return family_of(apply).model(apply, p, device);
  const StatsVariant& stats = stats_variants[plan.stats_variant];
  roofline::Kernel k = family_of(stats).model(stats, p, device);
  if (p.function == BatchNorm::train)
    k.serial_us += roofline::predict(family_of(apply).model(apply, p, device), device).us;
  return k;
}

template <class Row, std::size_t Rows>
static Result<int> choose(const Row (&table)[Rows], const BatchNormProblem& p, const DeviceInfo& device,
                          const PlanOptions& options, std::vector<Candidate>* record = nullptr) {
  return select<Row>(
      name(p.function), table, options, [&](const Row& row) { return family_of(row).fits(row, p, device); },
      [&](const Row& row) { return roofline::predict(family_of(row).model(row, p, device), device).us; }, record);
}

Result<BatchNormPlan> plan_batch_norm(const BatchNormProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  BatchNormPlan plan{p, device};
  if (p.function != BatchNorm::inference) {
    auto stats = choose(stats_variants, p, device, options);
    if (!stats) return stats.error();
    plan.stats_variant = *stats;
  }
  if (p.function != BatchNorm::stats) {
    auto apply = choose(apply_variants, p, device, p.function == BatchNorm::inference ? options : PlanOptions{});
    if (!apply) return apply.error();
    plan.apply_variant = *apply;
    const ApplyVariant& row = apply_variants[*apply];
    if (family_of(row).footprint(row, p, device).grid > max_grid)
      return Status::invalid(
          name(p.function), "x.shape", Layout::contiguous(std::span(p.x.shape.data(), 4)).text(),
          "of at most " + std::to_string(max_grid * row.config.threads) + " elements for this variant");
  }
  return plan;
}

std::size_t BatchNormPlan::workspace_bytes() const {
  if (problem.function == BatchNorm::inference) return 0;
  const StatsVariant& row = stats_variants[stats_variant];
  return family_of(row).footprint(row, problem, device).workspace;
}

Explanation BatchNormPlan::explain() const {
  Explanation e;
  e.op = name(problem.function);
  e.problem = problem.text();
  e.workspace_bytes = workspace_bytes();
  const bool inference = problem.function == BatchNorm::inference;
  e.variant = inference ? apply_variants[apply_variant].name : stats_variants[stats_variant].name;
  roofline::account(e, model_of(*this), device);
  if (inference) (void)choose(apply_variants, problem, device, {}, &e.candidates);
  else (void)choose(stats_variants, problem, device, {}, &e.candidates);
  return e;
}

// ---- run ---------------------------------------------------------------------------------------------------------

Status BatchNormPlan::run(const BatchNormTensors& t, Workspace workspace, Stream stream) const {
  const std::string_view op = name(problem.function);
  auto given = BatchNormProblem::of(problem.function, problem.layout, t, problem.eps);
  if (!given) return given.error();
  // Tensors may be aligned better than planned.
  given->align_x = std::min(given->align_x, problem.align_x);
  given->align_y = std::min(given->align_y, problem.align_y);
  given->aligned_parameters = given->aligned_parameters && problem.aligned_parameters;
  if (*given != problem) return not_as_planned(op, given->text(), problem.text());
  RIDGE_TRY(check_device(op, t.x.device, device));
  RIDGE_TRY(check_workspace(op, workspace, workspace_bytes()));
  if (problem.x.shape[1] == 0) return {};
  const Arguments args{*this, t, workspace.data, stream};
  return on_backend(device.id, [&](auto backend) {
    using Backend = decltype(backend);
    switch (problem.dtype) {
      case DType::f16: return launch_f16<Backend>(args);
      case DType::bf16: return launch_bf16<Backend>(args);
      default: return launch_f32<Backend>(args);
    }
  });
}

static void plan_and_run(BatchNorm function, const BatchNormTensors& t, float eps, BatchNormLayout layout,
                         Stream stream) {
  run_cached(
      BatchNormProblem::of(function, layout, t, eps), [](auto& p, auto& d) { return plan_batch_norm(p, d); },
      t.x.device, stream,
      [&](const BatchNormPlan& plan, Workspace workspace) { return plan.run(t, workspace, stream); });
}

void batch_norm(const BatchNormTensors& t, float eps, BatchNormLayout layout, Stream stream) {
  plan_and_run(BatchNorm::inference, t, eps, layout, stream);
}
void batch_norm_stats(const BatchNormTensors& t, BatchNormLayout layout, Stream stream) {
  plan_and_run(BatchNorm::stats, t, 0, layout, stream);
}
void batch_norm_train(const BatchNormTensors& t, float eps, BatchNormLayout layout, Stream stream) {
  plan_and_run(BatchNorm::train, t, eps, layout, stream);
}

}  // namespace ridge
