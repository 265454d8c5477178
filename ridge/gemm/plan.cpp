// fits -> choose, by predicted time. Pure: no CUDA call, no global.
#include <ridge/core/check_indices.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/tuning.hpp>
#include <ridge/gemm/families.hpp>
#include <ridge/gemm/launch.hpp>
#include <ridge/gemm/plan_time.hpp>
#include <ridge/gemm/run_cached.hpp>
#include <ridge/gemm/validate.hpp>

namespace ridge {

using namespace gemm_detail;

namespace {

Result<int> choose(const GemmProblem& p, const DeviceInfo& device, const PlanOptions& options,
                   std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      "gemm", variants, options, [&](const Variant& row) { return family_of(row).fits(row, p, device); },
      [&](const Variant& row) { return family_of(row).model(row, p, device).us; }, record);
}

// The row measured as fastest for a problem with packed, aligned tensors; -1: none was.
Result<int> tuned(const GemmProblem& p, const DeviceInfo& device, const Tuning& tuning) {
  const Tuning::Entry* entry = tuning.find(device.name, "gemm", p.text());
  if (!entry) return -1;
  GemmProblem packed = p;
  packed.layout = layout_of(p);
  for (auto* o : {&packed.a, &packed.b, &packed.c, &packed.d, &packed.bias_layout, &packed.residual_layout,
                  &packed.gate_layout, &packed.gate_bias_layout})
    o->reset();
  packed = with_operands(packed);
  packed.layout = p.layout;
  if (packed != p) return -1;
  for (int i = 0; i < variant_count; ++i)
    if (const Variant& row = variants[i]; row.name == entry->variant)
      return family_of(row).fits(row, p, device).empty() ? i : -1;
  return Status::invalid("gemm", "tuning", "'" + entry->variant + "' for " + p.text(),
                         "a variant of this version: the file is of another one");
}

// Whether TMA cannot read an operand in the way that was planned.
bool needs_more_copies(const GemmPlan& plan, const GemmProblem& given) {
  const Config& c = variants[plan.variant].config;
  const auto repack_of = family_of(c).repack;
  if (!repack_of) return false;
  const Repack planned = repack_of(c, plan.problem, plan.swap_ab), now = repack_of(c, given, plan.swap_ab);
  const auto more = [](const Repacked& is, const Repacked& was) {  // copied, or gathered
    return !was.needed && was.major != Major::none && (is.needed || is.major == Major::none);
  };
  return more(now.a, planned.a) || more(now.b, planned.b) || more(now.gate, planned.gate);
}

}  // namespace

roofline::Kernel gemm_detail::kernel_of(const GemmPlan& plan) {
  const Variant& row = variants[plan.variant];
  const GemmProblem& p = plan.problem;
  const Footprint footprint = family_of(row).footprint(row, p, plan.device, {plan.split, plan.swap_ab});
  roofline::Kernel k = roofline::kernel_of(footprint.launch, cost(p));
  k.registers_source = "at most, by the launch bounds";
  k.tile_efficiency = roofline::tile_efficiency(plan.swap_ab ? p.n : p.m, footprint.tile_rows) *
                      roofline::tile_efficiency(plan.swap_ab ? p.m : p.n, footprint.tile_columns);
  k.trip_bytes = footprint.trip_bytes;
  return k;
}

double gemm_detail::predicted_us(const GemmPlan& plan) {
  const Variant& row = variants[plan.variant];
  return family_of(row).model(row, plan.problem, plan.device).us;
}

std::string gemm_detail::row_of(const GemmPlan& plan) { return std::string(variants[plan.variant].name); }

Result<GemmPlan> plan_gemm(const GemmProblem& problem, const DeviceInfo& device, const PlanOptions& options,
                           const Tuning* tuning) {
  const GemmProblem p = with_operands(problem);
  RIDGE_TRY(validate(p));
  auto chosen = tuning && options.variant.empty() ? tuned(p, device, *tuning) : -1;
  if (chosen && *chosen < 0) chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  const Variant& row = variants[*chosen];
  const Arrangement way = family_of(row).arrange(row, p, device);
  const Footprint footprint = family_of(row).footprint(row, p, device, way);
  GemmPlan plan{p, device, *chosen, footprint.tiles, way.split, way.swap_ab, footprint.launch.workspace};
  plan.checked = p.grouped && options.checked.value_or(device.is_cpu());
  if (row.config.family == Family::sliced) {
    auto nested = plan_gemm(sliced::batch_of(p, plan.split), device);
    if (!nested) return nested.error();
    plan.nested = std::make_shared<const GemmPlan>(*std::move(nested));
  }
  return plan;
}

Explanation GemmPlan::explain() const {
  const Variant& row = variants[variant];
  Explanation e;
  e.op = "gemm";
  e.problem = problem.text();
  e.variant = row.name;
  const Prediction r = family_of(row).model(row, problem, device);
  const roofline::Kernel kernel = kernel_of(*this);
  roofline::account(e, kernel, r.us, terms_of(problem, device, r, kernel.tile_efficiency), device);
  e.workspace_bytes = workspace;
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status GemmPlan::run(const GemmTensors& tensors, Workspace given_workspace, Stream stream) const {
  auto given = GemmProblem::of(tensors, problem.scalars);
  if (!given) return given.error();
  given->layout = problem.layout;  // ignored where operands are given
  if (*given != problem) {
    // Tensors with a better alignment than planned are as good.
    GemmProblem planned = problem;
    const auto take_alignment = [](std::optional<GemmOperand>& to, const std::optional<GemmOperand>& from) {
      if (to && from) to->alignment_offset = from->alignment_offset;
    };
    take_alignment(planned.a, given->a);
    take_alignment(planned.b, given->b);
    take_alignment(planned.c, given->c);
    take_alignment(planned.d, given->d);
    take_alignment(planned.bias_layout, given->bias_layout);
    take_alignment(planned.residual_layout, given->residual_layout);
    take_alignment(planned.gate_layout, given->gate_layout);
    take_alignment(planned.gate_bias_layout, given->gate_bias_layout);
    const Variant& row = variants[variant];
    if (*given != planned || !family_of(row).fits(row, *given, device).empty() || needs_more_copies(*this, *given))
      return not_as_planned("gemm", given->text(), problem.text());
  }
  RIDGE_TRY(check_device("gemm", tensors.d.device, device));
  if (tiles == 0) return {};
  RIDGE_TRY(check_workspace("gemm", given_workspace, workspace));
  if (workspace > 0 && (!given_workspace.data || alignment_of(given_workspace.data) < access_bytes))
    return Status::invalid("gemm", "workspace.data", given_workspace.data ? "misaligned" : "null",
                           "aligned to " + std::to_string(access_bytes) + " bytes");
  if (checked) RIDGE_TRY(check_offsets("gemm", "offsets", *tensors.offsets, problem.m, "the rows of a", stream));
  return launch({*this, *given, tensors, given_workspace, stream});
}

Status gemm_detail::run_cached(const GemmTensors& tensors, const GemmScalars& scalars, Stream stream) {
  thread_local PlanCache<GemmProblem, GemmPlan> cache;
  auto problem = GemmProblem::of(tensors, scalars);
  if (!problem) return problem.error();
  auto tuning = Tuning::from_environment();
  if (!tuning) return tuning.error();
  auto plan = cache.find(*problem, tensors.d.device, [&](auto& p, auto& d) { return plan_gemm(p, d, {}, *tuning); });
  if (!plan) return plan.error();
  return run_with_workspace(**plan, tensors.d.device, stream,
                            [&](Workspace workspace) { return (*plan)->run(tensors, workspace, stream); });
}

void gemm(const GemmTensors& tensors, const GemmScalars& scalars, Stream stream) {
  throw_if(run_cached(tensors, scalars, stream));
}

}  // namespace ridge
