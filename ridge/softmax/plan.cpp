// validate -> fits -> model -> choose. Pure: no CUDA call, no global.
#include <ridge/core/as_given.hpp>
#include <ridge/core/check_data.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/softmax/families.hpp>
#include <ridge/softmax/launch.hpp>

namespace ridge {

using namespace softmax_detail;

static std::string_view op_name(bool log) { return log ? "log_softmax" : "softmax"; }

Result<SoftmaxProblem> SoftmaxProblem::of(bool log, const TensorView& x, const TensorView& y) {
  return of(log, x, y, Accumulate::plain);
}

Result<SoftmaxProblem> SoftmaxProblem::of(bool log, const TensorView& x, const TensorView& y, Accumulate accumulate) {
  const std::string_view op = op_name(log);
  if (x.rank() < 1) return Status::invalid(op, "x.shape", "scalar", "of at least one axis");
  RIDGE_TRY(check_like(op, "y", y, "x", x));
  RIDGE_TRY(check_data(op, "x", x));
  RIDGE_TRY(check_data(op, "y", y));
  RIDGE_TRY(check_no_partial_overlap(op, "y", y, "x", x));
  const TensorView views[] = {x, y};
  Rows rows[2];
  rows_of(views, rows);
  return SoftmaxProblem{.rows = rows_in(x.layout),
                        .cols = x.size(-1),
                        .dtype = x.dtype,
                        .log = log,
                        .accumulate = accumulate,
                        .x = rows[0],
                        .y = rows[1]};
}

Result<SoftmaxProblem> SoftmaxProblem::of_gradient(bool log, const TensorView& dy, const TensorView& y,
                                                   const TensorView& dx) {
  const std::string_view op = op_name(log);
  auto problem = of(log, y, y);
  if (!problem) return problem.error();
  RIDGE_TRY(check_like(op, "dy", dy, "y", y));
  RIDGE_TRY(check_data(op, "dy", dy));
  RIDGE_TRY(check_like(op, "dx", dx, "y", y));
  RIDGE_TRY(check_data(op, "dx", dx));
  for (const TensorView* in : {&dy, &y})
    if (share_memory(*in, dx) && !same_elements(*in, dx))
      return Status::invalid(op, "dx", "overlapping dy or y", "apart from it, or the same elements");
  const TensorView views[] = {y, dx, dy};
  Rows rows[3];
  rows_of(views, rows);
  problem->backward = true;
  problem->x = rows[0];
  problem->y = rows[1];
  problem->dy = rows[2];
  return problem;
}

static SoftmaxProblem with_layouts(SoftmaxProblem p) {
  if (!p.x) p.x = Rows::contiguous(p.rows, p.cols);
  if (!p.y) p.y = Rows::contiguous(p.rows, p.cols);
  if (p.backward && !p.dy) p.dy = Rows::contiguous(p.rows, p.cols);
  return p;
}

std::string SoftmaxProblem::text() const {
  return std::string(name(dtype)) + " " + std::to_string(rows) + "x" + std::to_string(cols) +
         (backward ? " backward" : "") + (is_two_float(*this) ? ", in two floats" : "");
}

static Status validate(const SoftmaxProblem& p) {
  const std::string_view op = op_name(p.log);
  if (!Types::contains(p.dtype))
    return Status::invalid(op, "dtype", std::string(name(p.dtype)), "one of f32 f16 bf16 f64");
  if (is_two_float(p) && (p.dtype != f32 || p.backward))
    return Status::invalid(op, "accumulate", "two_float",
                           p.backward ? "left out with backward: it is for the forward pass"
                                      : "left out: it is for f32, and x is " + std::string(name(p.dtype)));
  RIDGE_TRY(check_sizes(op, "shape", {p.rows, p.cols}));
  return check_elements_apart(op, "y", p.y->layout(p.cols));
}

// ---- choose ------------------------------------------------------------------------------------------------------

static Result<int> choose(const SoftmaxProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op_name(p.log), variants, options, [&](const Variant& row) { return refusal(row, p, device); },
      [&](const Variant& row) { return roofline::predict(family_of(row).model(row, p, device), device).us; }, record);
}

Result<SoftmaxPlan> plan_softmax(const SoftmaxProblem& problem, const DeviceInfo& device, const PlanOptions& options) {
  const SoftmaxProblem p = with_layouts(problem);
  RIDGE_TRY(validate(p));
  const auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Variant& row = variants[*chosen];
  const Footprint launch = family_of(row).footprint(row, p, device);
  if (launch.grid > max_grid) {
    const int per_lane = rows_per_lane(row.config, p.backward, element_bytes(p));
    const std::int64_t most = max_grid / row.config.cluster * rows_per_block(row.config, per_lane);
    return Status::invalid(op_name(p.log), "rows", std::to_string(p.rows), "at most " + std::to_string(most));
  }
  return SoftmaxPlan{p, device, *chosen, launch.grid, launch.workspace};
}

Explanation SoftmaxPlan::explain() const {
  const Variant& row = variants[variant];
  Explanation e;
  e.op = op_name(problem.log);
  e.problem = problem.text();
  e.variant = row.name;
  e.workspace_bytes = workspace;
  roofline::account(e, family_of(row).model(row, problem, device), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

// ---- run ---------------------------------------------------------------------------------------------------------

// Tensors may start at other alignment offsets than planned if the variant takes them.
static Status check_planned(const SoftmaxPlan& plan, const Result<SoftmaxProblem>& given, const TensorView& x,
                            const Workspace& workspace) {
  if (!given) return given.error();
  const Variant& row = variants[plan.variant];
  SoftmaxProblem planned = plan.problem;
  const std::string_view op = op_name(planned.log);
  if (*given != planned) {
    planned.x->alignment_offset = given->x->alignment_offset;
    planned.y->alignment_offset = given->y->alignment_offset;
    if (planned.dy && given->dy) planned.dy->alignment_offset = given->dy->alignment_offset;
    if (*given != planned || !refusal(row, *given, plan.device).empty())
      return not_as_planned(op, given->text(), planned.text());
    const Footprint launch = family_of(row).footprint(row, *given, plan.device);
    if (launch.workspace > plan.workspace || launch.grid > max_grid)
      return not_as_planned(op, given->text(), planned.text());
  }
  RIDGE_TRY(check_device(op, x.device, plan.device));
  return check_workspace(op, workspace, plan.workspace_bytes());
}

// Tensors of another alignment offset may take more blocks.
static constexpr auto with_its_grid = [](SoftmaxPlan& moved) {
  const Variant& row = variants[moved.variant];
  moved.grid = family_of(row).footprint(row, moved.problem, moved.device).grid;
};

Status SoftmaxPlan::run(const TensorView& x, const TensorView& y, Workspace scratch, Stream stream) const {
  const auto given = SoftmaxProblem::of(problem.log, x, y, problem.accumulate);
  RIDGE_TRY(check_planned(*this, given, x, scratch));
  if (grid == 0) return {};
  return as_given(
      *this, *given,
      [&](const SoftmaxPlan& plan) {
        return on_backend(device.id, [&](auto backend) {
          return launch<decltype(backend)>(plan, x.data, y.data, scratch.data, stream);
        });
      },
      with_its_grid);
}

Status SoftmaxPlan::run_gradient(const TensorView& dy, const TensorView& y, const TensorView& dx, Workspace scratch,
                                 Stream stream) const {
  const auto given = SoftmaxProblem::of_gradient(problem.log, dy, y, dx);
  RIDGE_TRY(check_planned(*this, given, y, scratch));
  if (grid == 0) return {};
  return as_given(
      *this, *given,
      [&](const SoftmaxPlan& plan) {
        return on_backend(device.id, [&](auto backend) {
          return launch_gradient<decltype(backend)>(plan, y.data, dy.data, dx.data, scratch.data, stream);
        });
      },
      with_its_grid);
}

static constexpr auto planned = [](const SoftmaxProblem& p, const DeviceInfo& d) { return plan_softmax(p, d); };

static void run_forward(bool log, const TensorView& x, const TensorView& y, Accumulate accumulate, Stream stream) {
  run_cached(SoftmaxProblem::of(log, x, y, accumulate), planned, y.device, stream,
             [&](const SoftmaxPlan& plan, Workspace workspace) { return plan.run(x, y, workspace, stream); });
}
static void run_backward(bool log, const TensorView& dy, const TensorView& y, const TensorView& dx, Stream stream) {
  run_cached(SoftmaxProblem::of_gradient(log, dy, y, dx), planned, y.device, stream,
             [&](const SoftmaxPlan& plan, Workspace w) { return plan.run_gradient(dy, y, dx, w, stream); });
}

static void run_along(bool log, const TensorView& x, int axis, const TensorView& y, Accumulate accumulate,
                      Stream stream) {
  const auto from_first = axis_of(op_name(log), axis, x.rank());
  if (!from_first) throw Error(from_first.error());
  throw_if(check_like(op_name(log), "y", y, "x", x));
  run_forward(log, axis_last(x, *from_first), axis_last(y, *from_first), accumulate, stream);
}

void softmax(const TensorView& x, int axis, const TensorView& y, Accumulate accumulate, Stream stream) {
  run_along(false, x, axis, y, accumulate, stream);
}
void log_softmax(const TensorView& x, int axis, const TensorView& y, Accumulate accumulate, Stream stream) {
  run_along(true, x, axis, y, accumulate, stream);
}
void softmax(const TensorView& x, int axis, const TensorView& y, Stream stream) {
  run_along(false, x, axis, y, Accumulate::plain, stream);
}
void log_softmax(const TensorView& x, int axis, const TensorView& y, Stream stream) {
  run_along(true, x, axis, y, Accumulate::plain, stream);
}
void softmax(const TensorView& x, const TensorView& y, Stream stream) {
  run_forward(false, x, y, Accumulate::plain, stream);
}
void log_softmax(const TensorView& x, const TensorView& y, Stream stream) {
  run_forward(true, x, y, Accumulate::plain, stream);
}
void softmax_gradient(const TensorView& dy, const TensorView& y, const TensorView& dx, Stream stream) {
  run_backward(false, dy, y, dx, stream);
}
void log_softmax_gradient(const TensorView& dy, const TensorView& y, const TensorView& dx, Stream stream) {
  run_backward(true, dy, y, dx, stream);
}

}  // namespace ridge
