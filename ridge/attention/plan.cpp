// validate -> fits -> model -> choose. Pure: no CUDA call, no global.
#include <ridge/attention/families.hpp>
#include <ridge/attention/launch.hpp>
#include <ridge/attention/validate.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>

namespace ridge {

using namespace attention_detail;

static constexpr std::string_view op = "attention";

static Result<int> choose(const AttentionProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, variants, options, [&](const Variant& row) { return family_of(row).fits(row, p, device); },
      [&](const Variant& row) { return roofline::predict(family_of(row).model(row, p, device), device).us; }, record);
}

Result<AttentionPlan> plan_attention(const AttentionProblem& problem, const DeviceInfo& device,
                                     const PlanOptions& options) {
  const AttentionProblem p = with_operands(problem);
  RIDGE_TRY(validate(p));
  auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Variant& row = variants[*chosen];
  const Family& family = family_of(row);
  const roofline::Footprint launch = family.footprint(row, p, device);
  const int splits = family.splits(row, p, device);
  return AttentionPlan{.problem = p,
                       .device = device,
                       .variant = *chosen,
                       .blocks = launch.grid / splits,
                       .splits = splits,
                       .smem = launch.smem,
                       .checked = has_lengths(p) && options.checked.value_or(device.is_cpu())};
}

std::size_t AttentionPlan::workspace_bytes() const {
  const Variant& row = variants[variant];
  return family_of(row).workspace(row, problem, splits);
}

Explanation AttentionPlan::explain() const {
  const Variant& row = variants[variant];
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = row.name;
  roofline::account(e, family_of(row).model(row, problem, device), device);
  e.workspace_bytes = workspace_bytes();
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

// Problem of these tensors, if the plan was made for one like it and gets what it needs.
static Result<AttentionProblem> as_planned(const AttentionPlan& plan, Result<AttentionProblem> given, Device device,
                                           const Workspace& workspace) {
  if (!given) return given;
  const AttentionProblem& problem = plan.problem;
  const Variant& row = variants[plan.variant];
  if (*given != problem) {
    // Tensors with stricter alignment than planned are accepted.
    AttentionProblem planned = problem;
    for (auto operand :
         {&AttentionProblem::q, &AttentionProblem::k, &AttentionProblem::v, &AttentionProblem::o,
          &AttentionProblem::grad_o, &AttentionProblem::grad_q, &AttentionProblem::grad_k, &AttentionProblem::grad_v})
      if (planned.*operand && (*given).*operand)
        (planned.*operand)->alignment_offset = ((*given).*operand)->alignment_offset;
    if (planned.mask_layout && given->mask_layout && given->mask_layout->alignment_offset == 0)
      planned.mask_layout->alignment_offset = 0;
    if (*given != planned || !family_of(row).fits(row, *given, plan.device).empty())
      return not_as_planned(op, given->text(), problem.text());
  }
  RIDGE_TRY(check_device(op, device, plan.device));
  RIDGE_TRY(check_workspace(op, workspace, plan.workspace_bytes()));
  return given;
}

Status AttentionPlan::run(const AttentionTensors& tensors, Workspace workspace, Stream stream) const {
  const auto given = as_planned(*this, AttentionProblem::of(tensors, problem.rule), tensors.o.device, workspace);
  if (!given) return given.error();
  if (blocks == 0) return {};
  if (checked) RIDGE_TRY(check_sequences(*given, tensors, stream));
  return launch({*this, *given, tensors, workspace, stream});
}

Status AttentionPlan::run_gradient(const AttentionGradientTensors& t, Workspace workspace, Stream stream) const {
  const auto given = as_planned(*this, AttentionProblem::of_gradient(t, problem.rule), t.grad_q.device, workspace);
  if (!given) return given.error();
  if (blocks == 0) return {};
  const AttentionTensors forward{
      .q = t.q, .k = t.k, .v = t.v, .o = t.o, .mask = t.mask, .lse = t.lse, .cu_q = t.cu_q, .cu_k = t.cu_k};
  if (checked) RIDGE_TRY(check_sequences(*given, forward, stream));
  return launch({*this, *given, forward, workspace, stream, &t});
}

// Implements the one-line functions: run(plan, workspace).
template <class Run>
static void plan_and_run(const Result<AttentionProblem>& problem, Device device, Stream stream, Run&& run) {
  run_cached(
      problem, [](auto& p, auto& d) { return plan_attention(p, d); }, device, stream, run);
}

void attention(const AttentionTensors& t, const AttentionRule& rule, Stream stream) {
  plan_and_run(AttentionProblem::of(t, rule), t.o.device, stream,
               [&](const AttentionPlan& plan, Workspace workspace) { return plan.run(t, workspace, stream); });
}

void attention_gradients(const AttentionGradientTensors& t, const AttentionRule& rule, Stream stream) {
  plan_and_run(AttentionProblem::of_gradient(t, rule), t.grad_q.device, stream,
               [&](const AttentionPlan& plan, Workspace workspace) { return plan.run_gradient(t, workspace, stream); });
}

}  // namespace ridge
