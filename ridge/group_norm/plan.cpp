// validate -> fits -> model -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/images.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/group_norm/families.hpp>
#include <ridge/group_norm/launch.hpp>

#include <algorithm>
#include <initializer_list>

namespace ridge {

using namespace group_norm_detail;

static constexpr std::string_view op = "group_norm";

// ---- views

namespace {
struct Named {
  std::string_view name;
  const TensorView* view;  // null: not given
};
using NamedViews = std::initializer_list<Named>;
}  // namespace

static const TensorView* given(const std::optional<TensorView>& view) { return view ? &*view : nullptr; }

static Status check_groups(std::int64_t groups, std::int64_t of_x) {
  if (groups < 1) return Status::invalid(op, "groups", std::to_string(groups), "1 or more");
  if (of_x % groups == 0) return {};
  return Status::invalid(op, "groups", std::to_string(groups), "a divisor of x's channels, " + std::to_string(of_x));
}

// A number for each channel, of f32 or of x's type.
static Status check_parameter(const Named& parameter, const TensorView& x, std::int64_t of_x) {
  const TensorView& view = *parameter.view;
  const std::string label(parameter.name);
  if (view.rank() != 1 || view.size(0) != of_x)
    return Status::invalid(op, label + ".shape", view.layout.text(), std::to_string(of_x));
  if (view.dtype != DType::f32 && view.dtype != x.dtype)
    return Status::invalid(op, label + ".dtype", std::string(name(view.dtype)),
                           x.dtype == DType::f32 ? "f32" : "f32 or that of x, " + std::string(name(x.dtype)));
  RIDGE_TRY(check_same_device(op, label, view.device, "x", x.device));
  return check_data(op, label, view);
}

// tensors: x, y (or dx) and dy, where it is given; all of x's shape.
static Result<GroupNormProblem> problem_of(const GroupNormOptions& options, NamedViews tensors, NamedViews parameters) {
  const TensorView& x = *tensors.begin()->view;
  GroupNormProblem p{.options = options, .dtype = x.dtype};
  Layout layouts[3];
  int* alignments[] = {&p.align_x, &p.align_y, &p.align_dy};
  int count = 0;
  for (const Named& tensor : tensors) {
    if (!tensor.view) continue;
    RIDGE_TRY(check_like(op, tensor.name, *tensor.view, "x", x));
    RIDGE_TRY(check_data(op, tensor.name, *tensor.view));
    layouts[count] = tensor.view->layout;
    *alignments[count++] = alignment_of(tensor.view->data);
  }
  RIDGE_TRY(
      as_images(op, options.layout == GroupNormLayout::nhwc, std::span(layouts, static_cast<std::size_t>(count))));
  p.x = layouts[0];
  p.y = layouts[1];
  p.dy = layouts[count > 2 ? 2 : 0];
  if (count < 3) p.align_dy = p.align_x;
  RIDGE_TRY(check_groups(options.groups, channels(p)));
  for (const Named& parameter : parameters)
    if (parameter.view) RIDGE_TRY(check_parameter(parameter, x, channels(p)));
  return p;
}

// Whether those that are given are contiguous f32 on 16 bytes.
static bool are_aligned(NamedViews parameters) {
  return std::ranges::all_of(parameters, [](const Named& parameter) {
    const TensorView* view = parameter.view;
    return !view || (view->dtype == DType::f32 && (view->size(0) <= 1 || view->stride(0) == 1) &&
                     alignment_of(view->data) >= vector_bytes);
  });
}

Result<GroupNormProblem> GroupNormProblem::of(const GroupNormTensors& t, const GroupNormOptions& options) {
  const Named x{"x", &t.x}, y{"y", &t.y}, gamma{"gamma", given(t.gamma)}, beta{"beta", given(t.beta)};
  auto p = problem_of(options, {x, y}, {gamma, beta});
  if (!p) return p;
  RIDGE_TRY(check_no_partial_overlap(op, "y", t.y, "x", t.x));
  for (const Named& in : {gamma, beta})
    if (in.view) RIDGE_TRY(check_no_overlap(op, "y", t.y, in.name, *in.view));
  p->gamma = gamma.view != nullptr;
  p->beta = beta.view != nullptr;
  p->aligned_parameters = are_aligned({gamma, beta});
  return p;
}

Result<GroupNormProblem> GroupNormProblem::of(const GroupNormGradientTensors& t, const GroupNormOptions& options) {
  const Named dy{"dy", &t.dy}, x{"x", &t.x}, gamma{"gamma", given(t.gamma)}, beta{"beta", given(t.beta)},
      dx{"dx", &t.dx}, dgamma{"dgamma", given(t.dgamma)}, dbeta{"dbeta", given(t.dbeta)};
  auto p = problem_of(options, {x, dx, dy}, {gamma, beta, dgamma, dbeta});
  if (!p) return p;
  const Named outputs[] = {dx, dgamma, dbeta};
  for (const Named& out : outputs) {
    if (!out.view) continue;
    for (const Named& in : {dy, x, gamma, beta})
      if (in.view) RIDGE_TRY(check_no_overlap(op, out.name, *out.view, in.name, *in.view));
    for (const Named* before = outputs; before->view != out.view; ++before)
      if (before->view) RIDGE_TRY(check_no_overlap(op, out.name, *out.view, before->name, *before->view));
    if (out.view != dx.view) RIDGE_TRY(check_elements_apart(op, out.name, out.view->layout));
  }
  p->backward = true;
  p->gamma = gamma.view != nullptr;
  p->beta = beta.view != nullptr;
  p->dgamma = dgamma.view != nullptr;
  p->dbeta = dbeta.view != nullptr;
  p->aligned_parameters = are_aligned({gamma, beta});
  return p;
}

GroupNormProblem GroupNormProblem::contiguous(DType dtype, std::int64_t n, std::int64_t c, std::int64_t spatial,
                                              const GroupNormOptions& options) {
  const bool nhwc = options.layout == GroupNormLayout::nhwc;
  Layout x[] = {nhwc ? Layout::contiguous({n, spatial, c}) : Layout::contiguous({n, c, spatial})};
  (void)as_images(op, nhwc, x);  // three contiguous axes always merge
  return {.options = options, .dtype = dtype, .x = x[0], .y = x[0], .dy = x[0]};
}

std::string GroupNormProblem::text() const {
  std::string text = std::string(name(dtype)) + " " + Layout::contiguous(std::span(x.shape.data(), 4)).text() +
                     (options.layout == GroupNormLayout::nhwc ? " nhwc" : "") + " in " +
                     std::to_string(options.groups) + (options.groups == 1 ? " group" : " groups");
  if (options.activation != Activation::none) text += ", " + std::string(name(options.activation));
  return text + (backward ? ", backward" : "");
}

static Status validate(const GroupNormProblem& p) {
  if (!Types::contains(p.dtype)) return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  RIDGE_TRY(check_eps(op, p.options.eps, p.dtype));
  RIDGE_TRY(check_extent(op, "x", p.x));
  RIDGE_TRY(check_extent(op, p.backward ? "dx" : "y", p.y));
  RIDGE_TRY(check_extent(op, "dy", p.dy));
  RIDGE_TRY(check_groups(p.options.groups, channels(p)));
  RIDGE_TRY(check_elements_apart(op, p.backward ? "dx" : "y", p.y));
  if (elements_of_group(p) < Divider::limit) return {};
  return Status::invalid(op, "x.shape", Layout::contiguous(std::span(p.x.shape.data(), 4)).text(),
                         "of fewer than 2^31 elements per group");
}

// ---- choose

static Result<int> choose(const GroupNormProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, variants, options, [&](const Variant& row) { return family_of(row).fits(row, p, device); },
      [&](const Variant& row) { return roofline::predict(family_of(row).model(row, p, device), device).us; }, record);
}

Result<GroupNormPlan> plan_group_norm(const GroupNormProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Variant& row = variants[*chosen];
  return GroupNormPlan{p, device, *chosen, family_of(row).footprint(row, p, device).workspace};
}

Explanation GroupNormPlan::explain() const {
  const Variant& row = variants[variant];
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = row.name;
  e.workspace_bytes = workspace;
  roofline::account(e, family_of(row).model(row, problem, device), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

// ---- run

static Status run_plan(const GroupNormPlan& plan, Result<GroupNormProblem> views, const TensorView& x,
                       const Operands& operands, const Workspace& workspace, Stream stream) {
  if (!views) return views.error();
  const GroupNormProblem& planned = plan.problem;
  // Tensors may be aligned better than planned.
  views->align_x = std::min(views->align_x, planned.align_x);
  views->align_y = std::min(views->align_y, planned.align_y);
  views->align_dy = std::min(views->align_dy, planned.align_dy);
  views->aligned_parameters = views->aligned_parameters && planned.aligned_parameters;
  if (*views != planned) return not_as_planned(op, views->text(), planned.text());
  RIDGE_TRY(check_device(op, x.device, plan.device));
  RIDGE_TRY(check_workspace(op, workspace, plan.workspace_bytes()));
  if (channels(planned) == 0 || (is_empty(planned) && !wants_sums(planned))) return {};
  return on_backend(plan.device.id, [&](auto backend) {
    return Types::visit(planned.dtype, Status{},
                        [&]<class T>() { return launch<decltype(backend), T>(plan, operands, stream); });
  });
}

Status GroupNormPlan::run(const GroupNormTensors& t, Workspace scratch, Stream stream) const {
  return run_plan(
      *this, GroupNormProblem::of(t, problem.options), t.x,
      {.x = t.x.data, .y = t.y.data, .gamma = given(t.gamma), .beta = given(t.beta), .workspace = scratch.data},
      scratch, stream);
}

Status GroupNormPlan::run(const GroupNormGradientTensors& t, Workspace scratch, Stream stream) const {
  return run_plan(*this, GroupNormProblem::of(t, problem.options), t.x,
                  {.x = t.x.data,
                   .y = t.dx.data,
                   .dy = t.dy.data,
                   .gamma = given(t.gamma),
                   .beta = given(t.beta),
                   .dgamma = given(t.dgamma),
                   .dbeta = given(t.dbeta),
                   .workspace = scratch.data},
                  scratch, stream);
}

// ---- one line

template <class Tensors>
static void plan_and_run(const Tensors& tensors, const GroupNormOptions& options, Stream stream) {
  run_cached(
      GroupNormProblem::of(tensors, options), [](auto& p, auto& d) { return plan_group_norm(p, d); }, tensors.x.device,
      stream, [&](const GroupNormPlan& plan, Workspace workspace) { return plan.run(tensors, workspace, stream); });
}

void group_norm(const GroupNormTensors& t, const GroupNormOptions& options, Stream stream) {
  plan_and_run(t, options, stream);
}
void group_norm_gradients(const GroupNormGradientTensors& t, const GroupNormOptions& options, Stream stream) {
  plan_and_run(t, options, stream);
}

}  // namespace ridge
