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

// Tensors of one shape as [n, c, h, w], their spatial axes merged as far as all allow.
static Status canonical(std::string_view op, BatchNormLayout layout, const std::vector<Layout*>& tensors) {
  std::vector<Layout> images;
  for (const Layout* t : tensors) images.push_back(*t);
  RIDGE_TRY(as_images(op, layout == BatchNormLayout::nhwc, images));
  for (std::size_t i = 0; i < images.size(); ++i) *tensors[i] = images[i];
  return {};
}

BatchNormProblem BatchNormProblem::contiguous(BatchNorm function, DType dtype, BatchNormLayout layout, std::int64_t n,
                                              std::int64_t c, std::int64_t spatial) {
  BatchNormProblem p{.function = function, .options = {.layout = layout}, .dtype = dtype};
  p.x = layout == BatchNormLayout::nchw ? Layout::contiguous({n, c, spatial}) : Layout::contiguous({n, spatial, c});
  p.y = p.x;
  if (function == BatchNorm::stats) p.options.eps = 0, p.gamma = p.beta = false;
  (void)canonical(name(function), layout, {&p.x, &p.y});  // three contiguous axes always merge
  return p;
}

// Refuses a tensor that is not one of x's parameters, [c].
static Status check_parameter(std::string_view op, const TensorView& view, const char* label, const TensorView& x,
                              std::int64_t channels, bool output) {
  if (view.rank() != 1 || view.size(0) != channels)
    return Status::invalid(op, std::string(label) + ".shape", view.layout.text(), std::to_string(channels));
  if (view.dtype != DType::f32 && (output || view.dtype != x.dtype))
    return Status::invalid(op, std::string(label) + ".dtype", std::string(name(view.dtype)),
                           output || x.dtype == DType::f32 ? "f32" : "f32 or that of x, " + std::string(name(x.dtype)));
  RIDGE_TRY(check_same_device(op, label, view.device, "x", x.device));
  RIDGE_TRY(check_data(op, label, view));
  return output ? check_elements_apart(op, label, view.layout) : Status();
}
// Precondition of the answer: it has one axis.
static bool is_aligned_parameter(const TensorView& view) {
  return view.dtype == DType::f32 && (view.layout.shape[0] == 1 || view.layout.stride[0] == 1) &&
         alignment_of(view.data) >= vector_bytes;
}

Result<BatchNormProblem> BatchNormProblem::of(BatchNorm function, const BatchNormTensors& t,
                                              const BatchNormOptions& options) {
  const std::string_view op = name(function);
  const TensorView &x = t.x, &y = function == BatchNorm::stats ? t.x : t.y;
  if (y.dtype != x.dtype)
    return Status::invalid(op, "y.dtype", std::string(name(y.dtype)), "that of x, " + std::string(name(x.dtype)));
  if (!y.layout.same_shape(x.layout))
    return Status::invalid(op, "y.shape", y.layout.text(), "that of x, " + x.layout.text());
  RIDGE_TRY(check_data(op, "x", x));
  BatchNormProblem p{.function = function, .options = options, .dtype = x.dtype};
  if (function == BatchNorm::stats) p.options.eps = 0, p.options.activation = Activation::none;
  p.x = x.layout;
  p.y = y.layout;
  const TensorView* residual = t.residual && function != BatchNorm::stats ? &*t.residual : nullptr;
  if (residual) {
    RIDGE_TRY(check_like(op, "residual", *residual, "x", x));
    RIDGE_TRY(check_data(op, "residual", *residual));
    p.residual = true;
    p.of_residual = residual->layout;
    p.align_residual = alignment_of(residual->data);
    RIDGE_TRY(canonical(op, options.layout, {&p.x, &p.y, &p.of_residual}));
  } else {
    RIDGE_TRY(canonical(op, options.layout, {&p.x, &p.y}));
  }
  const auto parameter = [&](const TensorView& view, const char* label, bool output) {
    p.aligned_parameters = p.aligned_parameters && is_aligned_parameter(view);
    return check_parameter(op, view, label, x, p.x.shape[1], output);
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
    if (residual) RIDGE_TRY(check_no_partial_overlap(op, "y", y, "residual", *residual));
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
    if (residual) others.push_back({residual, "residual"});
    written.push_back({&t.mean, "mean"});
    written.push_back({&t.var, "var"});
  }
  for (const Named& out : written)
    for (const Named& other : others)
      if (out.view != other.view && !(out.view == &y && (other.view == &x || other.view == residual)) &&
          share_memory(*out.view, *other.view))
        return Status::invalid(op, out.label, std::string("overlapping ") + other.label, "apart from it");
  p.align_x = alignment_of(x.data);
  p.align_y = alignment_of(y.data);
  return p;
}

Result<BatchNormProblem> BatchNormProblem::of_gradient(BatchNorm function, const BatchNormGradientTensors& t,
                                                       const BatchNormOptions& options) {
  const std::string_view op = name(function);
  if (function == BatchNorm::stats)
    return Status::invalid(op, "the gradient", "of statistics alone", "that of batch_norm or batch_norm_train");
  if (options.activation == Activation::none)
    for (const auto& [given, label] :
         {std::pair(&t.beta, "beta"), {&t.residual, "residual"}, {&t.dresidual, "dresidual"}})
      if (given->has_value())
        return Status::invalid(op, label, "given without an activation", "left out: dz is dy then");
  const TensorView& x = t.x;
  BatchNormProblem p{.function = function, .options = options, .dtype = x.dtype};
  struct Named {
    const TensorView* view;
    const char* label;
  };
  std::vector<Named> read{{&t.dy, "dy"}, {&x, "x"}}, written{{&t.dx, "dx"}};
  std::vector<Layout*> layouts{&p.dy, &p.x, &p.y};
  if (t.residual) read.push_back({&*t.residual, "residual"}), layouts.push_back(&p.of_residual);
  if (t.dresidual) written.push_back({&*t.dresidual, "dresidual"}), layouts.push_back(&p.of_dresidual);
  std::vector<Named> images = read;
  images.insert(images.begin() + 2, written.begin(), written.end());
  RIDGE_TRY(check_data(op, "x", x));
  for (const auto& [view, label] : images) {
    if (view == &x) continue;
    RIDGE_TRY(check_like(op, label, *view, "x", x));
    RIDGE_TRY(check_data(op, label, *view));
  }
  p.dy = t.dy.layout;
  p.x = x.layout;
  p.y = t.dx.layout;
  if (t.residual) p.of_residual = t.residual->layout;
  if (t.dresidual) p.of_dresidual = t.dresidual->layout;
  RIDGE_TRY(canonical(op, options.layout, layouts));
  const std::int64_t channels = p.x.shape[1];
  const auto parameter = [&](std::vector<Named>& among, const TensorView& view, const char* label, bool output) {
    among.push_back({&view, label});
    p.aligned_parameters = p.aligned_parameters && (output || is_aligned_parameter(view));
    return check_parameter(op, view, label, x, channels, output);
  };
  RIDGE_TRY(parameter(read, t.mean, "mean", false));
  RIDGE_TRY(parameter(read, t.var, "var", false));
  if (t.gamma) RIDGE_TRY(parameter(read, *t.gamma, "gamma", false));
  if (t.beta) RIDGE_TRY(parameter(read, *t.beta, "beta", false));
  if (t.dgamma) RIDGE_TRY(parameter(written, *t.dgamma, "dgamma", true));
  if (t.dbeta) RIDGE_TRY(parameter(written, *t.dbeta, "dbeta", true));
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto& [out, label] = written[i];
    for (const Named& other : read) RIDGE_TRY(check_no_overlap(op, label, *out, other.label, *other.view));
    for (std::size_t j = 0; j < i; ++j)
      RIDGE_TRY(check_no_overlap(op, label, *out, written[j].label, *written[j].view));
  }
  p.backward = true;
  p.gamma = t.gamma.has_value();
  p.beta = t.beta.has_value();
  p.residual = t.residual.has_value();
  p.dgamma = t.dgamma.has_value();
  p.dbeta = t.dbeta.has_value();
  p.dresidual = t.dresidual.has_value();
  p.align_x = alignment_of(x.data);
  p.align_y = alignment_of(t.dx.data);
  p.align_dy = alignment_of(t.dy.data);
  if (t.residual) p.align_residual = alignment_of(t.residual->data);
  if (t.dresidual) p.align_dresidual = alignment_of(t.dresidual->data);
  return p;
}

std::string BatchNormProblem::text() const {
  return std::string(name(dtype)) + " " + Layout::contiguous(std::span(x.shape.data(), 4)).text() +
         (options.layout == BatchNormLayout::nhwc ? " nhwc" : "") + (residual ? " + residual" : "") +
         (is_activated(*this) ? " " + std::string(name(options.activation)) : "") + (backward ? " backward" : "");
}

// What a plan has a row for: of statistics, or of a gradient's sums; of y, or of dx.
static bool has_stats(const BatchNormProblem& p) {
  return p.backward ? has_sums(p) : p.function != BatchNorm::inference;
}
static bool has_apply(const BatchNormProblem& p) { return p.function != BatchNorm::stats; }
// Whether a variant that is named is of the second table.
static bool names_apply(const BatchNormProblem& p) { return p.function == BatchNorm::inference; }

static Status validate(const BatchNormProblem& p) {
  const std::string_view op = name(p.function), out = p.backward ? "dx" : "y";
  if (!Types::contains(p.dtype)) return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  if (!std::isfinite(p.options.eps)) return Status::invalid(op, "eps", number_text(p.options.eps), "finite");
  RIDGE_TRY(check_extent(op, "x", p.x));
  RIDGE_TRY(check_extent(op, out, p.y));
  if (p.backward) RIDGE_TRY(check_extent(op, "dy", p.dy));
  if (p.residual) RIDGE_TRY(check_extent(op, "residual", p.of_residual));
  if (p.dresidual) {
    RIDGE_TRY(check_extent(op, "dresidual", p.of_dresidual));
    RIDGE_TRY(check_elements_apart(op, "dresidual", p.of_dresidual));
  }
  if (has_apply(p)) RIDGE_TRY(check_elements_apart(op, out, p.y));
  if (has_stats(p) && per_channel(p.x) >= Divider::limit)
    return Status::invalid(op, "x.shape", Layout::contiguous(std::span(p.x.shape.data(), 4)).text(),
                           "of fewer than 2^31 elements per channel");
  return {};
}

// ---- choose ------------------------------------------------------------------------------------------------------

static std::span<const StatsVariant> stats_table(const BatchNormProblem& p) {
  return p.backward ? std::span<const StatsVariant>(sums_variants) : std::span<const StatsVariant>(stats_variants);
}
static std::span<const ApplyVariant> apply_table(const BatchNormProblem& p) {
  return p.backward ? std::span<const ApplyVariant>(gradient_variants) : std::span<const ApplyVariant>(apply_variants);
}
static const StatsFamily& family_for(const BatchNormProblem& p, const StatsVariant& row) {
  return p.backward ? sums_family_of(row) : family_of(row);
}
static const ApplyFamily& family_for(const BatchNormProblem& p, const ApplyVariant& row) {
  return p.backward ? gradient_family_of(row) : family_of(row);
}

// Both kernels, one after the other, if the function has both.
static roofline::Kernel model_of(const BatchNormPlan& plan) {
  const BatchNormProblem& p = plan.problem;
  const DeviceInfo& device = plan.device;
  const ApplyVariant& apply = apply_table(p)[plan.apply_variant];
  if (!has_stats(p)) return family_for(p, apply).model(apply, p, device);
  const StatsVariant& stats = stats_table(p)[plan.stats_variant];
  roofline::Kernel k = family_for(p, stats).model(stats, p, device);
  if (has_apply(p)) k.serial_us += roofline::predict(family_for(p, apply).model(apply, p, device), device).us;
  return k;
}

template <class Row>
static Result<int> choose(std::span<const Row> table, const BatchNormProblem& p, const DeviceInfo& device,
                          const PlanOptions& options, std::vector<Candidate>* record = nullptr) {
  return select<Row>(
      name(p.function), table, options, [&](const Row& row) { return family_for(p, row).fits(row, p, device); },
      [&](const Row& row) { return roofline::predict(family_for(p, row).model(row, p, device), device).us; }, record);
}

Result<BatchNormPlan> plan_batch_norm(const BatchNormProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  BatchNormPlan plan{p, device};
  if (has_stats(p)) {
    auto stats = choose(stats_table(p), p, device, names_apply(p) ? PlanOptions{} : options);
    if (!stats) return stats.error();
    plan.stats_variant = *stats;
  }
  if (has_apply(p)) {
    auto apply = choose(apply_table(p), p, device, names_apply(p) ? options : PlanOptions{});
    if (!apply) return apply.error();
    plan.apply_variant = *apply;
    const ApplyVariant& row = apply_table(p)[*apply];
    if (family_for(p, row).footprint(row, p, device).grid > max_grid)
      return Status::invalid(
          name(p.function), "x.shape", Layout::contiguous(std::span(p.x.shape.data(), 4)).text(),
          "of at most " + std::to_string(max_grid * row.config.threads) + " elements for this variant");
  }
  return plan;
}

std::size_t BatchNormPlan::workspace_bytes() const {
  if (!has_stats(problem)) return 0;
  const StatsVariant& row = stats_table(problem)[stats_variant];
  return family_for(problem, row).footprint(row, problem, device).workspace;
}

Explanation BatchNormPlan::explain() const {
  Explanation e;
  e.op = name(problem.function);
  e.problem = problem.text();
  e.workspace_bytes = workspace_bytes();
  const bool apply = names_apply(problem);
  e.variant = apply ? apply_table(problem)[apply_variant].name : stats_table(problem)[stats_variant].name;
  roofline::account(e, model_of(*this), device);
  if (apply) (void)choose(apply_table(problem), problem, device, {}, &e.candidates);
  else (void)choose(stats_table(problem), problem, device, {}, &e.candidates);
  return e;
}

// ---- run ---------------------------------------------------------------------------------------------------------

// Tensors may be aligned better than planned.
static Status check_planned(const BatchNormPlan& plan, Result<BatchNormProblem>& given, Device device,
                            const Workspace& workspace) {
  if (!given) return given.error();
  const BatchNormProblem& p = plan.problem;
  const std::string_view op = name(p.function);
  given->align_x = std::min(given->align_x, p.align_x);
  given->align_y = std::min(given->align_y, p.align_y);
  given->align_dy = std::min(given->align_dy, p.align_dy);
  given->align_residual = std::min(given->align_residual, p.align_residual);
  given->align_dresidual = std::min(given->align_dresidual, p.align_dresidual);
  given->aligned_parameters = given->aligned_parameters && p.aligned_parameters;
  if (*given != p) return not_as_planned(op, given->text(), p.text());
  RIDGE_TRY(check_device(op, device, plan.device));
  return check_workspace(op, workspace, plan.workspace_bytes());
}

Status BatchNormPlan::run(const BatchNormTensors& t, Workspace workspace, Stream stream) const {
  auto given = BatchNormProblem::of(problem.function, t, problem.options);
  RIDGE_TRY(check_planned(*this, given, t.x.device, workspace));
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

Status BatchNormPlan::run_gradient(const BatchNormGradientTensors& t, Workspace workspace, Stream stream) const {
  auto given = BatchNormProblem::of_gradient(problem.function, t, problem.options);
  RIDGE_TRY(check_planned(*this, given, t.x.device, workspace));
  if (problem.x.shape[1] == 0) return {};
  const GradientArguments args{*this, t, workspace.data, stream};
  return on_backend(device.id, [&](auto backend) {
    using Backend = decltype(backend);
    switch (problem.dtype) {
      case DType::f16: return launch_gradient_f16<Backend>(args);
      case DType::bf16: return launch_gradient_bf16<Backend>(args);
      default: return launch_gradient_f32<Backend>(args);
    }
  });
}

static constexpr auto planned = [](const BatchNormProblem& p, const DeviceInfo& d) { return plan_batch_norm(p, d); };

static void plan_and_run(BatchNorm function, const BatchNormTensors& t, const BatchNormOptions& options,
                         Stream stream) {
  run_cached(BatchNormProblem::of(function, t, options), planned, t.x.device, stream,
             [&](const BatchNormPlan& plan, Workspace workspace) { return plan.run(t, workspace, stream); });
}
static void plan_and_run_gradient(BatchNorm function, const BatchNormGradientTensors& t,
                                  const BatchNormOptions& options, Stream stream) {
  run_cached(BatchNormProblem::of_gradient(function, t, options), planned, t.x.device, stream,
             [&](const BatchNormPlan& plan, Workspace workspace) { return plan.run_gradient(t, workspace, stream); });
}

void batch_norm(const BatchNormTensors& t, const BatchNormOptions& options, Stream stream) {
  plan_and_run(BatchNorm::inference, t, options, stream);
}
void batch_norm_stats(const BatchNormTensors& t, const BatchNormOptions& options, Stream stream) {
  plan_and_run(BatchNorm::stats, t, options, stream);
}
void batch_norm_train(const BatchNormTensors& t, const BatchNormOptions& options, Stream stream) {
  plan_and_run(BatchNorm::train, t, options, stream);
}
void batch_norm_gradient(const BatchNormGradientTensors& t, const BatchNormOptions& options, Stream stream) {
  plan_and_run_gradient(BatchNorm::inference, t, options, stream);
}
void batch_norm_train_gradient(const BatchNormGradientTensors& t, const BatchNormOptions& options, Stream stream) {
  plan_and_run_gradient(BatchNorm::train, t, options, stream);
}

}  // namespace ridge
