// validate -> fits -> model -> choose. Pure: no CUDA call, no global.
#include <ridge/core/as_given.hpp>
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>
#include <ridge/norm/families.hpp>
#include <ridge/norm/launch.hpp>

#include <cmath>
#include <initializer_list>

namespace ridge {

using namespace norm_detail;

static std::string_view op_name(Norm norm, bool added) {
  if (norm == Norm::layer) return added ? "add_layer_norm" : "layer_norm";
  return added ? "add_rms_norm" : "rms_norm";
}
static std::string_view op_name(const NormProblem& p) { return op_name(p.norm, p.added); }

// ---- views

namespace {
struct Named {
  std::string_view name;
  const TensorView* view;  // null: not given
};
using NamedViews = std::initializer_list<Named>;
}  // namespace

static const TensorView* given(const std::optional<TensorView>& view) { return view ? &*view : nullptr; }

static Status check_like(std::string_view op, const TensorView& x, NamedViews rows, NamedViews parameters) {
  if (x.rank() < 1) return Status::invalid(op, "x.shape", "scalar", "of at least one axis");
  const Layout parameter = Layout::contiguous({x.size(-1)});
  for (const NamedViews& group : {rows, parameters})
    for (const auto& [name, view] : group) {
      if (!view) continue;
      const Layout& shape = std::data(group) == std::data(rows) ? x.layout : parameter;
      const std::string argument(name);
      if (view->dtype != x.dtype)
        return Status::invalid(op, argument + ".dtype", std::string(ridge::name(view->dtype)),
                               "that of x, " + std::string(ridge::name(x.dtype)));
      if (!view->layout.same_shape(shape))
        return Status::invalid(op, argument + ".shape", view->layout.text(), shape.text());
      RIDGE_TRY(check_same_device(op, argument, view->device, "x", x.device));
      RIDGE_TRY(check_data(op, argument, *view));
    }
  return {};
}

// Outputs may not overlap each other, nor inputs, except that an output may be one of `replaceable`.
static Status check_overlap(std::string_view op, NamedViews outputs, NamedViews replaceable, NamedViews others) {
  for (const auto* out = outputs.begin(); out != outputs.end(); ++out) {
    if (!out->view) continue;
    const auto refuse = [&](std::string_view other, const char* must) {
      return Status::invalid(op, std::string(out->name), "overlapping " + std::string(other), must);
    };
    for (const auto& [name, in] : replaceable)
      if (in && share_memory(*out->view, *in) && !same_elements(*out->view, *in))
        return refuse(name, "apart from it, or the same elements");
    for (const auto& [name, in] : others)
      if (in && share_memory(*out->view, *in)) return refuse(name, "apart from it");
    for (const auto* before = outputs.begin(); before != out; ++before)
      if (before->view && share_memory(*out->view, *before->view)) return refuse(before->name, "apart from it");
  }
  return {};
}

static NormProblem problem_of(Norm norm, double eps, const TensorView& x, const TensorView* (&&rows)[3],
                              NamedViews parameters) {
  NormProblem p{.norm = norm, .cols = x.size(-1), .dtype = x.dtype, .eps = eps};
  p.rows = rows_in(x.layout);
  const TensorView views[] = {x, rows[0] ? *rows[0] : x, rows[1] ? *rows[1] : x, rows[2] ? *rows[2] : x};
  rows_of(views, p.row_layouts.emplace());
  for (const auto& [name, view] : parameters)
    p.parameters_contiguous = p.parameters_contiguous && (!view || view->size(0) <= 1 || view->stride(0) == 1);
  return p;
}

Result<NormProblem> NormProblem::of(Norm norm, double eps, const NormTensors& t, Accumulate accumulate) {
  const bool added = t.residual || t.sum;
  const std::string_view op = op_name(norm, added);
  if (t.residual.has_value() != t.sum.has_value())
    return Status::invalid(op, t.sum ? "residual" : "sum", "missing", t.sum ? "given with sum" : "given with residual");
  const TensorView *residual = given(t.residual), *sum = given(t.sum), *gamma = given(t.gamma), *beta = given(t.beta);
  RIDGE_TRY(check_like(op, t.x, {{"y", &t.y}, {"x", &t.x}, {"residual", residual}, {"sum", sum}},
                       {{"gamma", gamma}, {"beta", beta}}));
  RIDGE_TRY(check_overlap(op, {{"y", &t.y}, {"sum", sum}}, {{"x", &t.x}, {"residual", residual}},
                          {{"gamma", gamma}, {"beta", beta}}));
  NormProblem p = problem_of(norm, eps, t.x, {&t.y, residual, sum}, {{"gamma", gamma}, {"beta", beta}});
  p.added = added;
  p.gamma = gamma != nullptr;
  p.beta = beta != nullptr;
  p.accumulate = accumulate;
  return p;
}

Result<NormProblem> NormProblem::of(Norm norm, double eps, const NormGradientTensors& t) {
  const std::string_view op = op_name(norm, t.dsum.has_value());
  const TensorView *gamma = given(t.gamma), *dsum = given(t.dsum), *dgamma = given(t.dgamma), *dbeta = given(t.dbeta);
  const NamedViews parameters = {{"gamma", gamma}, {"dgamma", dgamma}, {"dbeta", dbeta}};
  RIDGE_TRY(check_like(op, t.x, {{"dy", &t.dy}, {"x", &t.x}, {"dsum", dsum}, {"dx", &t.dx}}, parameters));
  RIDGE_TRY(check_overlap(op, {{"dx", &t.dx}, {"dgamma", dgamma}, {"dbeta", dbeta}}, {},
                          {{"dy", &t.dy}, {"x", &t.x}, {"gamma", gamma}, {"dsum", dsum}}));
  for (const auto& [name, view] : NamedViews{{"dgamma", dgamma}, {"dbeta", dbeta}})
    if (view) RIDGE_TRY(check_elements_apart(op, name, view->layout));
  NormProblem p = problem_of(norm, eps, t.x, {&t.dx, &t.dy, dsum}, parameters);
  p.backward = true;
  p.added = dsum != nullptr;
  p.gamma = gamma != nullptr;
  p.beta = false;
  p.dgamma = dgamma != nullptr;
  p.dbeta = dbeta != nullptr;
  return p;
}

static NormProblem with_layouts(NormProblem p) {
  const Rows rows = Rows::contiguous(p.rows, p.cols);
  if (!p.row_layouts) p.row_layouts = {rows, rows, rows, rows};
  return p;
}

std::string NormProblem::text() const {
  return std::string(name(dtype)) + " " + std::to_string(rows) + "x" + std::to_string(cols) +
         (backward ? " backward" : "") + (is_two_float(*this) ? ", in two floats" : "");
}

static Status validate(const NormProblem& p) {
  const std::string_view op = op_name(p);
  if (!Types::contains(p.dtype))
    return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16 f64");
  if (p.accumulate == Accumulate::two_float && (p.dtype != f32 || p.backward))
    return Status::invalid(op, "accumulate", "two_float",
                           "left out: it is for the forward pass of f32, and " +
                               (p.backward ? "this is a gradient" : "this is of " + std::string(name(p.dtype))));
  RIDGE_TRY(check_sizes(op, "shape", {p.rows, p.cols}));
  RIDGE_TRY(check_eps(op, p.eps, p.dtype));
  for (int i : {1, 3}) {
    const Rows& rows = (*p.row_layouts)[i];
    if (i == 3 && (p.backward || !p.added)) continue;  // an input, or none
    RIDGE_TRY(check_elements_apart(op, i == 3 ? "sum" : p.backward ? "dx" : "y", rows.layout(p.cols)));
  }
  return {};
}

// ---- choose

static Result<int> choose(const NormProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op_name(p), variants, options, [&](const Variant& row) { return family_of(row).fits(row, p, device); },
      [&](const Variant& row) { return roofline::predict(family_of(row).model(row, p, device), device).us; }, record);
}

Result<NormPlan> plan_norm(const NormProblem& problem, const DeviceInfo& device, const PlanOptions& options) {
  const NormProblem p = with_layouts(problem);
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Variant& row = variants[*chosen];
  const Footprint launch = family_of(row).footprint(row, p, device);
  if (launch.grid > max_grid)
    return Status::invalid(op_name(p), "rows", std::to_string(p.rows),
                           "at most " + std::to_string(max_grid / row.config.cluster * rows_per_block(row.config)));
  return NormPlan{p, device, *chosen, launch.grid, launch.workspace};
}

Explanation NormPlan::explain() const {
  const Variant& row = variants[variant];
  Explanation e;
  e.op = op_name(problem);
  e.problem = problem.text();
  e.variant = row.name;
  e.workspace_bytes = workspace;
  roofline::account(e, family_of(row).model(row, problem, device), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

// ---- run

static Status check_planned(const NormPlan& plan, const Result<NormProblem>& views, const TensorView& x,
                            const Workspace& workspace) {
  if (!views) return views.error();
  const std::string_view op = op_name(plan.problem);
  const Variant& row = variants[plan.variant];
  if (*views != plan.problem) {
    // Tensors may start at other alignment offsets than planned if the variant takes them.
    NormProblem planned = plan.problem;
    for (int i = 0; i < 4; ++i) (*planned.row_layouts)[i].alignment_offset = (*views->row_layouts)[i].alignment_offset;
    if (*views != planned || !family_of(row).fits(row, *views, plan.device).empty())
      return not_as_planned(op, views->text(), planned.text());
  }
  RIDGE_TRY(check_device(op, x.device, plan.device));
  RIDGE_TRY(check_workspace(op, workspace, plan.workspace_bytes()));
  return {};
}

static Parameter parameter_of(const std::optional<TensorView>& v) {
  return v ? Parameter{v->data, v->layout.stride[0]} : Parameter{};
}
static void* data_of(const std::optional<TensorView>& v) { return v ? v->data : nullptr; }

// given: the problem of the tensors. A ring is larger if they are not aligned as planned.
static Status start(const NormPlan& planned, const NormProblem& given, const Operands& operands, Stream stream) {
  if (given.cols == 0 || (planned.grid == 0 && !wants_sums(given))) return {};
  return as_given(planned, given, [&](const NormPlan& plan) {
    return on_backend(plan.device.id, [&](auto backend) {
      if (is_two_float(given)) return launch_two_float<decltype(backend)>(plan, operands, stream);
      return Types::visit(given.dtype, Status{},
                          [&]<class T>() { return launch<decltype(backend), T>(plan, operands, stream); });
    });
  });
}

Status NormPlan::run(const NormTensors& t, Workspace scratch, Stream stream) const {
  const auto given = NormProblem::of(problem.norm, problem.eps, t, problem.accumulate);
  RIDGE_TRY(check_planned(*this, given, t.x, scratch));
  return start(*this, *given,
               {.x = t.x.data,
                .y = t.y.data,
                .other = data_of(t.residual),
                .added = data_of(t.sum),
                .gamma = parameter_of(t.gamma),
                .beta = parameter_of(t.beta),
                .workspace = scratch.data},
               stream);
}

Status NormPlan::run(const NormGradientTensors& t, Workspace scratch, Stream stream) const {
  const auto given = NormProblem::of(problem.norm, problem.eps, t);
  RIDGE_TRY(check_planned(*this, given, t.x, scratch));
  return start(*this, *given,
               {.x = t.x.data,
                .y = t.dx.data,
                .other = t.dy.data,
                .added = data_of(t.dsum),
                .gamma = parameter_of(t.gamma),
                .dgamma = parameter_of(t.dgamma),
                .dbeta = parameter_of(t.dbeta),
                .workspace = scratch.data},
               stream);
}

// ---- one line

template <class Tensors>
static void plan_and_run(const Result<NormProblem>& problem, const Tensors& tensors, Stream stream) {
  run_cached(
      problem, [](auto& p, auto& d) { return plan_norm(p, d); }, tensors.x.device, stream,
      [&](const NormPlan& plan, Workspace workspace) { return plan.run(tensors, workspace, stream); });
}
static void run_forward(Norm norm, const NormTensors& tensors, const NormOptions& o, Stream stream) {
  plan_and_run(NormProblem::of(norm, o.eps, tensors, o.accumulate), tensors, stream);
}

void layer_norm(const TensorView& x, const TensorView& y, const NormOptions& o, Stream stream) {
  run_forward(Norm::layer, {.x = x, .gamma = o.gamma, .beta = o.beta, .y = y}, o, stream);
}
void rms_norm(const TensorView& x, const TensorView& y, const NormOptions& o, Stream stream) {
  run_forward(Norm::rms, {.x = x, .gamma = o.gamma, .beta = o.beta, .y = y}, o, stream);
}
void add_layer_norm(const TensorView& x, const TensorView& residual, const TensorView& y, const TensorView& sum,
                    const NormOptions& o, Stream stream) {
  run_forward(Norm::layer, {.x = x, .residual = residual, .gamma = o.gamma, .beta = o.beta, .y = y, .sum = sum}, o,
              stream);
}
void add_rms_norm(const TensorView& x, const TensorView& residual, const TensorView& y, const TensorView& sum,
                  const NormOptions& o, Stream stream) {
  run_forward(Norm::rms, {.x = x, .residual = residual, .gamma = o.gamma, .beta = o.beta, .y = y, .sum = sum}, o,
              stream);
}
void norm_gradients(Norm norm, const NormGradientTensors& t, double eps, Stream stream) {
  plan_and_run(NormProblem::of(norm, eps, t), t, stream);
}

}  // namespace ridge
