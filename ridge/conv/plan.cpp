// The choice of a row, and running it. Pure up to run(): no CUDA call, no global. What is taken at all: problem.cpp; by
// which row: fits.cpp; in what time: cost.cpp.
#include <ridge/conv/launch.hpp>
#include <ridge/conv/plan.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>

#include <algorithm>

namespace ridge {

using namespace conv_detail;

static constexpr std::string_view op = "conv2d";

namespace {

double predict_us(const Variant& row, const ConvProblem& p, const DeviceInfo& device) {
  return roofline::predict(kernel_of(row, p, device, slices_of(row, p, device)), device).us;
}

Result<int> choose(const ConvProblem& p, const DeviceInfo& device, const PlanOptions& options,
                   std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, variants, options, [&](const Variant& row) { return fits(row, p, device); },
      [&](const Variant& row) { return predict_us(row, p, device); }, record);
}

// ---- run ------------------------------------------------------------------------------------------------------------

Status check_run(const ConvPlan& plan, Result<ConvProblem> given, const TensorView& x, Workspace workspace) {
  if (!given) return given.error();
  // Tensors that start on rounder addresses than were planned for are as good.
  given->alignment = std::min(given->alignment, plan.problem.alignment);
  if (*given != plan.problem) return not_as_planned(op, given->text(), plan.problem.text());
  RIDGE_TRY(check_device(op, x.device, plan.device));
  RIDGE_TRY(check_workspace(op, workspace, plan.workspace));
  return {};
}

Status launch(const Arguments& args) {
  return on_backend(args.plan.device.id, [&](auto backend) {
    using B = decltype(backend);
    if constexpr (std::is_same_v<B, simt::Cuda>) {
      if (is_for_hopper(variants[args.plan.variant].config)) {
        if (variants[args.plan.variant].config.tf32) return launch_wgmma_tf32(args);
        if (args.plan.problem.dtype == f32) return launch_fma(args);
        return args.plan.problem.dtype == f16 ? launch_wgmma_f16(args) : launch_wgmma_bf16(args);
      }
    }
    switch (args.plan.problem.dtype) {
      case DType::f16: return launch_f16<B>(args);
      case DType::bf16: return launch_bf16<B>(args);
      default: return launch_f32<B>(args);
    }
  });
}

}  // namespace

Result<ConvPlan> plan_conv2d(const ConvProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  ConvPlan plan{p, device, *chosen};
  const Config& c = variants[*chosen].config;
  if (p.backward) plan.split = static_cast<int>(split_of(c, p, device.sms));
  else if (steps_along_terms(c)) take_slices(plan, slices_of(variants[*chosen], p, device));
  if (c.method == Method::implicit && p.backward)
    plan.workspace = static_cast<std::size_t>(plan.split) * static_cast<std::size_t>(p.w.count()) * sizeof(float);
  if (c.method == Method::winograd) plan.workspace = static_cast<std::size_t>(winograd_parts(p).floats) * sizeof(float);
  if (c.method == Method::wgmma && p.backward)
    plan.workspace = static_cast<std::size_t>(turned_filter_bytes(p) + plan.split * p.w.count() * 4);
  return plan;
}

Explanation ConvPlan::explain() const {
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = variants[variant].name;
  e.workspace_bytes = workspace;
  const int slices = problem.backward ? 1 : split;
  roofline::account(e, kernel_of(variants[variant], problem, device, slices), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status ConvPlan::run(const ConvTensors& t, Workspace given, Stream stream) const {
  RIDGE_TRY(check_run(*this, ConvProblem::of(t, problem.geometry, problem.epilogue, problem.math), t.x, given));
  if (problem.y.count() == 0) return {};
  return launch({.plan = *this,
                 .x = t.x.data,
                 .w = t.w.data,
                 .bias = t.bias ? t.bias->data : nullptr,
                 .residual = t.residual ? t.residual->data : nullptr,
                 .y = t.y.data,
                 .workspace = given.data,
                 .stream = stream});
}

Status ConvPlan::run_gradient(const ConvGradientTensors& t, Workspace given, Stream stream) const {
  RIDGE_TRY(check_run(*this, ConvProblem::of_gradient(t, problem.geometry), t.x, given));
  if (problem.dx.count() == 0 && problem.dw.count() == 0) return {};
  return launch({.plan = *this,
                 .x = t.x.data,
                 .w = t.w.data,
                 .dy = t.dy.data,
                 .dx = t.dx.data,
                 .dw = t.dw.data,
                 .workspace = given.data,
                 .stream = stream});
}

template <class Run>
static void plan_and_run(const Result<ConvProblem>& problem, Device device, Stream stream, Run&& run) {
  run_cached(
      problem, [](auto& p, auto& d) { return plan_conv2d(p, d); }, device, stream, run);
}

void conv2d(const ConvTensors& t, const ConvGeometry& g, const ConvEpilogue& epilogue, Stream stream, ConvMath math) {
  plan_and_run(ConvProblem::of(t, g, epilogue, math), t.x.device, stream,
               [&](const ConvPlan& plan, Workspace workspace) { return plan.run(t, workspace, stream); });
}

void conv2d_gradient(const ConvGradientTensors& t, const ConvGeometry& g, Stream stream) {
  plan_and_run(ConvProblem::of_gradient(t, g), t.x.device, stream,
               [&](const ConvPlan& plan, Workspace workspace) { return plan.run_gradient(t, workspace, stream); });
}

}  // namespace ridge
