// attention_merge: problem, plan, and its face by name. Pure but for run().
#include <ridge/attention/attention.hpp>
#include <ridge/attention/merge_launch.hpp>
#include <ridge/core/check_data.hpp>
#include <ridge/core/grid.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/op.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>
#include <ridge/roofline/predict.hpp>

namespace ridge {

using namespace attention_detail;

static constexpr std::string_view op = "attention_merge";

Result<AttentionMergeProblem> AttentionMergeProblem::of(const AttentionMergeTensors& t) {
  const Layout& shape = t.o.layout;
  if (shape.rank != 4) return Status::invalid(op, "o.shape", shape.text(), "of 4 axes: batch, heads, rows and columns");
  AttentionMergeProblem p{.b = shape.shape[0], .h = shape.shape[1], .s = shape.shape[2], .dv = shape.shape[3]};
  p.dtype = t.o.dtype;
  if (p.dtype != f32 && p.dtype != f16 && p.dtype != bf16)
    return Status::invalid(op, "o.dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  const Layout rows = Layout::contiguous({p.b, p.h, p.s});
  const struct {
    const char* name;
    const TensorView& view;
    Strides& strides;
    bool of_rows;
  } all[] = {{"o_a", t.o_a, p.o_a, false}, {"lse_a", t.lse_a, p.lse_a, true},
             {"o_b", t.o_b, p.o_b, false}, {"lse_b", t.lse_b, p.lse_b, true},
             {"o", t.o, p.o, false},       {"lse", t.lse, p.lse, true}};
  for (const auto& [name, view, strides, of_rows] : all) {
    const Layout& wanted = of_rows ? rows : shape;
    if (!view.layout.same_shape(wanted))
      return Status::invalid(op, std::string(name) + ".shape", view.layout.text(),
                             of_rows ? "that of o without columns, " + rows.text() : "that of o, " + shape.text());
    if (const DType dtype = of_rows ? f32 : p.dtype; view.dtype != dtype)
      return Status::invalid(op, std::string(name) + ".dtype", std::string(ridge::name(view.dtype)),
                             std::string(ridge::name(dtype)));
    RIDGE_TRY(check_same_device(op, name, view.device, "o", t.o.device));
    for (int axis = 0; axis < view.rank(); ++axis) strides[axis] = view.size(axis) <= 1 ? 0 : view.stride(axis);
    const bool is_output = &view == &t.o || &view == &t.lse;
    if (is_output) RIDGE_TRY(check_elements_apart(op, name, view.layout));
    if (&view != &t.o) RIDGE_TRY(check_no_overlap(op, "o", t.o, name, view));
    if (&view != &t.lse) RIDGE_TRY(check_no_overlap(op, "lse", t.lse, name, view));
  }
  return p;
}

std::string AttentionMergeProblem::text() const {
  Text text;
  text << name(dtype) << " " << b << "x" << h << " heads, " << s << " rows of " << dv;
  return text.str();
}

static roofline::Kernel kernel_of(const MergeVariant& row, const AttentionMergeProblem& p) {
  const double rows = static_cast<double>(p.b) * static_cast<double>(p.h) * static_cast<double>(p.s);
  const double part = rows * (static_cast<double>(p.dv) * static_cast<double>(size_of(p.dtype)) + 4);
  roofline::Kernel k;
  k.cost.bytes_read = k.bytes_read = 2 * part;
  k.cost.bytes_written = k.bytes_written = part;
  k.cost.on(Unit::fp32) = 2 * 2 * rows * static_cast<double>(p.dv);
  k.cost.on(Unit::special) = 3 * rows;
  k.blocks = attention_kernels::merge_blocks(p.b * p.h * p.s);
  k.launches = 1;
  k.block = {.threads = row.threads, .registers = 40, .smem = 0};
  k.trips = 2;  // to LSE, and to O
  k.trip_bytes = 2 * static_cast<double>(p.dv) * static_cast<double>(size_of(p.dtype));
  return k;
}

static Result<int> choose(const AttentionMergeProblem& p, const DeviceInfo& device, const PlanOptions& options,
                          std::vector<Candidate>* record = nullptr) {
  return select<MergeVariant>(
      op, merge_variants, options,
      [&](const MergeVariant&) -> std::string {
        const bool fit = p.b == 0 || p.h == 0 || p.s <= max_grid / std::max<std::int64_t>(1, p.b * p.h);
        return fit && p.dv <= max_grid ? "" : "more than 2^31 - 1 queries or columns";
      },
      [&](const MergeVariant& row) { return roofline::predict(kernel_of(row, p), device).us; }, record);
}

Result<AttentionMergePlan> plan_attention_merge(const AttentionMergeProblem& p, const DeviceInfo& device,
                                                const PlanOptions& options) {
  auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  return AttentionMergePlan{p, device, *chosen};
}

Explanation AttentionMergePlan::explain() const {
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = merge_variants[variant].name;
  roofline::account(e, kernel_of(merge_variants[variant], problem), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status AttentionMergePlan::run(const AttentionMergeTensors& t, Stream stream) const {
  auto given = AttentionMergeProblem::of(t);
  if (!given) return given.error();
  if (*given != problem) return not_as_planned(op, given->text(), problem.text());
  RIDGE_TRY(check_device(op, t.o.device, device));
  if (problem.b * problem.h * problem.s == 0) return {};
  return on_backend(device.id, [&](auto backend) { return launch_merge<decltype(backend)>(*this, t, stream); });
}

void attention_merge(const AttentionMergeTensors& t, Stream stream) {
  run_cached(
      AttentionMergeProblem::of(t), [](auto& p, auto& d) { return plan_attention_merge(p, d); }, t.o.device, stream,
      [&](const AttentionMergePlan& plan, Workspace) { return plan.run(t, stream); });
}

// ---- by name --------------------------------------------------------------------------------------------------------

static Result<bool> rows_first(const Options& options) {
  const std::string_view layout = options.text("layout", "bhsd");
  if (layout == "bhsd" || layout == "bshd") return layout == "bshd";
  return Status::invalid(op, "layout", "'" + std::string(layout) + "'", "bhsd or bshd");
}

static AttentionMergeTensors tensors_of(bool swapped, Views in, Views out) {
  const auto as_bhsd = [&](const TensorView& v) { return swapped && v.rank() == 4 ? heads_first(v) : v; };
  return {.o_a = as_bhsd(in[0]),
          .lse_a = in[1],
          .o_b = as_bhsd(in[2]),
          .lse_b = in[3],
          .o = as_bhsd(out[0]),
          .lse = out[1]};
}

static Result<std::vector<TensorType>> infer(Views in, const Options&) {
  const auto type = [](const TensorView& v) {
    return TensorType{v.dtype, {v.layout.shape.begin(), v.layout.shape.begin() + v.rank()}};
  };
  return std::vector<TensorType>{type(in[0]), type(in[1])};
}

static Result<std::unique_ptr<OpPlan>> plan_by_name(Views in, Views out, const Options& options,
                                                    const DeviceInfo& device) {
  auto swapped = rows_first(options);
  if (!swapped) return swapped.error();
  auto problem = AttentionMergeProblem::of(tensors_of(*swapped, in, out));
  if (!problem) return problem.error();
  auto plan = plan_attention_merge(*problem, device, {.variant = std::string(options.text("variant"))});
  if (!plan) return plan.error();
  return make_op_plan(std::move(*plan), [s = *swapped](const AttentionMergePlan& p, Views x, Views y, const Workspace&,
                                                       Stream stream) { return p.run(tensors_of(s, x, y), stream); });
}

static const RegisterOp registered(
    {.name = op,
     .family = "attention",
     .summary = "o and lse of attention to two sets of keys, from those of either",
     .inputs = {"o_a", "lse_a", "o_b", "lse_b"},
     .outputs = {"o", "lse"},
     .dtypes = {f32, f16, bf16},
     .options = {{"layout", "bhsd|bshd", "the order of axes of o_a, o_b and o; lse is [b, h, s]", "bhsd"}},
     .variants = variant_infos(merge_variants, [](const MergeVariant&) { return std::string_view("coalescing"); }),
     .infer = infer,
     .plan = plan_by_name});

}  // namespace ridge
