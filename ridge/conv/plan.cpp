// Chooses a row and its split-K slices, and runs it. Pure up to run(): no CUDA call, no global. problem.cpp validates.
#include <ridge/conv/conv_transpose.hpp>
#include <ridge/conv/families.hpp>
#include <ridge/conv/launch.hpp>
#include <ridge/conv/plan_time.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>

#include <algorithm>

namespace ridge {

using namespace conv_detail;

namespace {

double predict_us(const Variant& row, const SplitProblem& s, const DeviceInfo& device) {
  return roofline::predict(family_of(row).model(row, s, device), device).us;
}

// The number of split-K slices with the least predicted time; 1 on the CPU runtime: it runs few blocks at a time, and
// its plans must be the same on every machine.
int slices_of(const Variant& row, const ConvProblem& p, const DeviceInfo& device) {
  const Config& c = row.config;
  if (device.is_cpu() || !has_slices(c, p)) return 1;
  const std::int64_t tiles = p.geometry.groups * tiles_of(c, filters_of_group(p), pixels_of(p));
  const std::int64_t resident = 2 * std::max<std::int64_t>(device.sms, 1);
  if (tiles >= resident) return 1;
  int best = 1;
  double least_us = predict_us(row, {p}, device);
  const std::int64_t most = std::min<std::int64_t>(gemm_kernels::max_slices, ceil_div(2 * resident, tiles));
  for (int wanted = 2; wanted <= most; wanted += std::max(1, wanted / 8)) {
    const int slices = static_cast<int>(slicing_of(c)->shape(c, p, wanted).slices);
    const double us = predict_us(row, {p, slices}, device);
    if (us < least_us) least_us = us, best = slices;
  }
  return best;
}

// Computes ConvPlan::split.
int split_of(const Variant& row, const ConvProblem& p, const DeviceInfo& device) {
  const Slicing* slicing = slicing_of(row.config);
  if (p.backward) return slicing ? slicing->parts(row.config, p, device) : 1;
  return slices_of(row, p, device);
}

Result<int> choose(const ConvProblem& p, const DeviceInfo& device, const PlanOptions& options,
                   std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      p.op(), variants, options,
      [&](const Variant& row) {
        if (is_volume(p) && !takes_volumes(row.config)) return std::string("it is for images, not for volumes");
        return family_of(row).fits(row, {p}, device);
      },
      [&](const Variant& row) {
        return predict_us(row, {p, split_of(row, p, device)}, device);
      },
      record);
}

// ---- run ------------------------------------------------------------------------------------------------------------

Status check_run(const ConvPlan& plan, Result<ConvProblem> given, const TensorView& x, Workspace workspace) {
  if (!given) return given.error();
  const std::string_view op = plan.problem.op();
  // Better alignment than planned is fine.
  given->alignment = std::min(given->alignment, plan.problem.alignment);
  if (*given != plan.problem) return not_as_planned(op, given->text(), plan.problem.text());
  RIDGE_TRY(check_device(op, x.device, plan.device));
  RIDGE_TRY(check_workspace(op, workspace, plan.workspace));
  if (plan.workspace > 0 && alignment_of(workspace.data) < vector_bytes)
    return Status::invalid(op, "workspace.data", "misaligned", "aligned to " + std::to_string(vector_bytes) + " bytes");
  return {};
}

}  // namespace

Status conv_detail::launch_plan(const Arguments& args) {
  switch (variants[args.plan.variant].config.algorithm) {
    case Algorithm::product: return product::run(args);
    case Algorithm::each_gradient: return each_gradient::run(args);
    default: break;
  }
  return on_backend(args.plan.device.id, [&](auto backend) {
    using B = decltype(backend);
    switch (args.plan.problem.dtype) {
      case DType::f16: return launch_f16<B>(args);
      case DType::bf16: return launch_bf16<B>(args);
      default: return launch_f32<B>(args);
    }
  });
}

double conv_detail::predicted_us(const ConvPlan& plan) {
  return predict_us(variants[plan.variant], {plan.problem, plan.split}, plan.device);
}

roofline::Kernel conv_detail::kernel_of(const ConvPlan& plan) {
  if (!plan.products.empty()) return gemm_detail::kernel_of(plan.products[0]);
  if (!plan.nested.empty()) return kernel_of(plan.nested[0]);
  const Variant& row = variants[plan.variant];
  return family_of(row).model(row, {plan.problem, plan.split}, plan.device);
}

std::string conv_detail::row_of(const ConvPlan& plan) {
  std::string text(variants[plan.variant].name);
  for (std::size_t i = 0; i < plan.nested.size(); ++i) text += (i == 0 ? ": " : ", ") + row_of(plan.nested[i]);
  return text;
}

Result<ConvPlan> plan_conv2d(const ConvProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  ConvPlan plan{p, device, *chosen};
  const Variant& row = variants[*chosen];
  switch (row.config.algorithm) {
    case Algorithm::product: plan.products = product::plans_of(p, device); break;
    case Algorithm::channels_last:
      plan.nested.push_back(conversion::plan_of(conversion::conversion_of(p).problem, device));
      break;
    case Algorithm::each_gradient: plan.nested = each_gradient::plans_of(p, device); break;
    case Algorithm::flipped: plan.nested = flipped::plans_of(p, device); break;
    case Algorithm::windows: plan.nested.push_back(windows::plan_of(p, device)); break;
    default: break;
  }
  take_slices(plan, split_of(row, p, device));
  return plan;
}

Explanation ConvPlan::explain() const {
  const Variant& row = variants[variant];
  Explanation e;
  e.op = problem.op();
  e.problem = problem.text();
  e.variant = row.name;
  e.workspace_bytes = workspace;
  switch (row.config.algorithm) {
    case Algorithm::product: product::account(e, *this); break;
    case Algorithm::channels_last: conversion::account(e, *this); break;
    case Algorithm::each_gradient: each_gradient::account(e, *this); break;
    case Algorithm::flipped: flipped::account(e, *this); break;
    case Algorithm::windows: windows::account(e, *this); break;
    default: roofline::account(e, family_of(row).model(row, {problem, split}, device), device);
  }
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status ConvPlan::run(const ConvTensors& t, Workspace given, Stream stream) const {
  const bool transposed = problem.transposed;
  RIDGE_TRY(check_run(*this,
                      transposed ? ConvProblem::of_transposed(t, problem.geometry, problem.epilogue)
                                 : ConvProblem::of(t, problem.geometry, problem.epilogue, problem.math),
                      t.x, given));
  if ((transposed ? problem.x : problem.y).count() == 0) return {};
  Arguments args{.plan = *this,
                 .w = t.w.data,
                 .bias = t.bias ? t.bias->data : nullptr,
                 .residual = t.residual ? t.residual->data : nullptr,
                 .workspace = given.data,
                 .stream = stream};
  (transposed ? args.dy : args.x) = t.x.data;
  (transposed ? args.dx : args.y) = t.y.data;
  return launch_plan(args);
}

Status ConvPlan::run_gradient(const ConvGradientTensors& t, Workspace given, Stream stream) const {
  RIDGE_TRY(check_run(*this, ConvProblem::of_gradient(t, problem.geometry), t.x, given));
  if (!has_dx(problem) && !has_dw(problem)) return {};
  return launch_plan({.plan = *this,
                      .x = t.x.data,
                      .w = t.w.data,
                      .dy = t.dy.data,
                      .dx = t.dx ? t.dx->data : nullptr,
                      .dw = t.dw ? t.dw->data : nullptr,
                      .workspace = given.data,
                      .stream = stream});
}

template <class Run>
static void plan_and_run(const Result<ConvProblem>& problem, Device device, Stream stream, Run&& run) {
  run_cached(
      problem, [](auto& p, auto& d) { return plan_conv2d(p, d); }, device, stream, run);
}

// The functions by rank take views of that rank alone; the problem of views of 3 axes is a signal's, of 5 a volume's,
// and of others an image's.
static Result<ConvProblem> of_axes(int axes, Result<ConvProblem> problem, const TensorView& x) {
  if (!problem || problem->axes == axes) return problem;
  problem->axes = axes;  // whose name the refusal has
  return Status::invalid(problem->op(), "x.shape", x.layout.text(), "of " + std::to_string(axes + 2) + " axes");
}

static void run_forward(int axes, const ConvTensors& t, const ConvGeometry& g, const ConvEpilogue& epilogue,
                        Stream stream, ConvMath math) {
  plan_and_run(of_axes(axes, ConvProblem::of(t, g, epilogue, math), t.x), t.x.device, stream,
               [&](const ConvPlan& plan, Workspace workspace) { return plan.run(t, workspace, stream); });
}
static void run_gradient(int axes, const ConvGradientTensors& t, const ConvGeometry& g, Stream stream) {
  plan_and_run(of_axes(axes, ConvProblem::of_gradient(t, g), t.x), t.x.device, stream,
               [&](const ConvPlan& plan, Workspace workspace) { return plan.run_gradient(t, workspace, stream); });
}
static void run_transposed(int axes, const ConvTensors& t, const ConvGeometry& g, const ConvEpilogue& epilogue,
                           Stream stream) {
  plan_and_run(of_axes(axes, ConvProblem::of_transposed(t, g, epilogue), t.x), t.x.device, stream,
               [&](const ConvPlan& plan, Workspace workspace) { return plan.run(t, workspace, stream); });
}

void conv1d(const ConvTensors& t, const ConvGeometry& g, const ConvEpilogue& e, Stream stream, ConvMath math) {
  run_forward(1, t, g, e, stream, math);
}
void conv2d(const ConvTensors& t, const ConvGeometry& g, const ConvEpilogue& e, Stream stream, ConvMath math) {
  run_forward(2, t, g, e, stream, math);
}
void conv3d(const ConvTensors& t, const ConvGeometry& g, const ConvEpilogue& e, Stream stream, ConvMath math) {
  run_forward(3, t, g, e, stream, math);
}
void conv1d_gradient(const ConvGradientTensors& t, const ConvGeometry& g, Stream stream) {
  run_gradient(1, t, g, stream);
}
void conv2d_gradient(const ConvGradientTensors& t, const ConvGeometry& g, Stream stream) {
  run_gradient(2, t, g, stream);
}
void conv3d_gradient(const ConvGradientTensors& t, const ConvGeometry& g, Stream stream) {
  run_gradient(3, t, g, stream);
}
void conv_transpose1d(const ConvTensors& t, const ConvGeometry& g, const ConvEpilogue& e, Stream stream) {
  run_transposed(1, t, g, e, stream);
}
void conv_transpose2d(const ConvTensors& t, const ConvGeometry& g, const ConvEpilogue& e, Stream stream) {
  run_transposed(2, t, g, e, stream);
}

}  // namespace ridge
