// validate -> fits -> model -> choose. Pure: no CUDA call, no global.
#include <ridge/core/check_data.hpp>
#include <ridge/core/on_backend.hpp>
#include <ridge/core/plan_cache.hpp>
#include <ridge/core/plan_checks.hpp>
#include <ridge/core/text.hpp>
#include <ridge/dwconv/families.hpp>
#include <ridge/dwconv/launch.hpp>

#include <cmath>

namespace ridge {

using namespace dwconv_detail;

static constexpr std::string_view op = "dwconv";

DwconvProblem DwconvProblem::contiguous(DType dtype, std::int64_t batch, std::int64_t channels, std::int64_t time,
                                        std::int64_t taps, bool backward) {
  DwconvProblem p{.batch = batch, .channels = channels, .time = time, .taps = taps, .dtype = dtype};
  p.backward = backward;
  p.y = p.k = Layout::contiguous({batch, channels, time});
  p.w = Layout::contiguous({channels, taps});
  if (backward) p.dk = p.k;
  if (backward) p.dw = p.w;
  return p;
}

namespace {

struct Named {
  std::string name;
  const TensorView* view;
};

// Checks that inputs and outputs share dtype and device, and do not overlap.
Status check_together(const TensorView& k, std::initializer_list<Named> inputs, std::initializer_list<Named> outputs) {
  for (const auto& list : {inputs, outputs})
    for (const auto& [label, view] : list) {
      if (view->dtype != k.dtype)
        return Status::invalid(op, label + ".dtype", std::string(name(view->dtype)),
                               "that of k, " + std::string(name(k.dtype)));
      RIDGE_TRY(check_same_device(op, label, view->device, "k", k.device));
    }
  for (auto out = outputs.begin(); out != outputs.end(); ++out) {
    for (const Named& in : inputs)
      if (share_memory(*in.view, *out->view))
        return Status::invalid(op, out->name, "overlapping " + in.name, "apart from it");
    for (auto other = outputs.begin(); other != out; ++other)
      if (share_memory(*other->view, *out->view))
        return Status::invalid(op, out->name, "overlapping " + other->name, "apart from it");
    RIDGE_TRY(check_elements_apart(op, out->name, out->view->layout));
  }
  return {};
}

Status check_like(const Named& given, const Named& model) {
  if (given.view->layout.same_shape(model.view->layout)) return {};
  return Status::invalid(op, given.name + ".shape", given.view->layout.text(),
                         "that of " + model.name + ", " + model.view->layout.text());
}

Result<DwconvProblem> signal_and_filter(const TensorView& k, const TensorView& w) {
  if (k.rank() != 3) return Status::invalid(op, "k.shape", k.layout.text(), "of 3 axes: batch, channels, time");
  if (w.rank() != 2 || w.size(0) != k.size(1))
    return Status::invalid(op, "w.shape", w.layout.text(),
                           "of 2 axes: k's " + std::to_string(k.size(1)) + " channels, and the filter's length");
  DwconvProblem p{.batch = k.size(0), .channels = k.size(1), .time = k.size(2), .taps = w.size(1), .dtype = k.dtype};
  p.k = k.layout;
  p.w = w.layout;
  return p;
}

int least_alignment(std::initializer_list<const TensorView*> views) {
  int least = 16;
  for (const TensorView* view : views) least = std::min(least, alignment_of(view->data));
  return least;
}

Status validate(const DwconvProblem& p) {
  if (!Types::contains(p.dtype))
    return Status::invalid(op, "k.dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  if (!std::isfinite(p.eps)) return Status::invalid(op, "eps", number_text(p.eps), "finite");
  RIDGE_TRY(check_sizes(op, "k.shape", {p.batch, p.channels, p.time}));
  return check_sizes(op, "w.shape", {p.channels, p.taps});
}

Result<int> choose(const DwconvProblem& p, const DeviceInfo& device, const PlanOptions& options,
                   std::vector<Candidate>* record = nullptr) {
  return select<Variant>(
      op, variants, options, [&](const Variant& row) { return family_of(row).fits(row, p, device); },
      [&](const Variant& row) { return roofline::predict(family_of(row).model(row, p, device), device).us; }, record);
}

Status launch(const Arguments& args) {
  return on_backend(args.plan.device.id, [&](auto backend) {
    using B = decltype(backend);
    const DType dtype = args.plan.problem.dtype;
    if constexpr (std::is_same_v<B, simt::Cuda>) {
      const Algorithm algorithm = variants[args.plan.variant].config.algorithm;
      if (algorithm == Algorithm::whole) return launch_whole_f32(args);
      if (algorithm == Algorithm::tensor)
        return dtype == f32   ? launch_tensor_f32(args)
               : dtype == f16 ? launch_tensor_f16(args)
                              : launch_tensor_bf16(args);
    }
    return dtype == f32 ? launch_f32<B>(args) : dtype == f16 ? launch_f16<B>(args) : launch_bf16<B>(args);
  });
}

// Better alignment than planned is fine.
Status check_planned(const DwconvPlan& plan, Result<DwconvProblem> given, const TensorView& k) {
  if (!given) return given.error();
  const DwconvProblem& planned = plan.problem;
  given->alignment = std::min(given->alignment, planned.alignment);
  if (*given != planned) return not_as_planned(op, given->text(), planned.text());
  RIDGE_TRY(check_device(op, k.device, plan.device));
  return {};
}

}  // namespace

Result<DwconvProblem> DwconvProblem::of(const TensorView& k, const TensorView& w, const TensorView& y, float eps) {
  auto p = signal_and_filter(k, w);
  if (!p) return p;
  RIDGE_TRY(check_like({"y", &y}, {"k", &k}));
  RIDGE_TRY(check_together(k, {{"k", &k}, {"w", &w}}, {{"y", &y}}));
  p->eps = eps;
  p->y = y.layout;
  p->alignment = least_alignment({&k, &w, &y});
  return p;
}

Result<DwconvProblem> DwconvProblem::of_gradient(const TensorView& dy, const TensorView& k, const TensorView& w,
                                                 const TensorView& dk, const TensorView& dw) {
  auto p = signal_and_filter(k, w);
  if (!p) return p;
  RIDGE_TRY(check_like({"dy", &dy}, {"k", &k}));
  RIDGE_TRY(check_like({"dk", &dk}, {"k", &k}));
  RIDGE_TRY(check_like({"dw", &dw}, {"w", &w}));
  RIDGE_TRY(check_together(k, {{"dy", &dy}, {"k", &k}, {"w", &w}}, {{"dk", &dk}, {"dw", &dw}}));
  p->backward = true;
  p->y = dy.layout;
  p->dk = dk.layout;
  p->dw = dw.layout;
  p->alignment = least_alignment({&dy, &k, &w, &dk, &dw});
  return p;
}

std::string DwconvProblem::text() const {
  return std::string(name(dtype)) + " " + std::to_string(batch) + "x" + std::to_string(channels) + "x" +
         std::to_string(time) + ", filters of " + std::to_string(taps) + (backward ? " backward" : "");
}

Result<DwconvPlan> plan_dwconv(const DwconvProblem& p, const DeviceInfo& device, const PlanOptions& options) {
  RIDGE_TRY(validate(p));
  auto chosen = choose(p, device, options);
  if (!chosen) return chosen.error();
  return DwconvPlan{p, device, *chosen};
}

Explanation DwconvPlan::explain() const {
  const Variant& row = variants[variant];
  Explanation e;
  e.op = op;
  e.problem = problem.text();
  e.variant = row.name;
  roofline::account(e, family_of(row).model(row, problem, device), device);
  (void)choose(problem, device, {}, &e.candidates);
  return e;
}

Status DwconvPlan::run(const TensorView& k, const TensorView& w, const TensorView& y, Stream stream) const {
  RIDGE_TRY(check_planned(*this, DwconvProblem::of(k, w, y, problem.eps), k));
  return launch({*this, nullptr, k.data, w.data, y.data, nullptr, nullptr, stream});
}

Status DwconvPlan::run_gradient(const TensorView& dy, const TensorView& k, const TensorView& w, const TensorView& dk,
                                const TensorView& dw, Stream stream) const {
  RIDGE_TRY(check_planned(*this, DwconvProblem::of_gradient(dy, k, w, dk, dw), k));
  return launch({*this, dy.data, k.data, w.data, nullptr, dk.data, dw.data, stream});
}

static constexpr auto planned = [](const DwconvProblem& p, const DeviceInfo& d) { return plan_dwconv(p, d); };

void dwconv(const TensorView& k, const TensorView& w, const TensorView& y, float eps, Stream stream) {
  run_cached(DwconvProblem::of(k, w, y, eps), planned, k.device, stream,
             [&](const DwconvPlan& plan, Workspace) { return plan.run(k, w, y, stream); });
}

void dwconv_gradient(const TensorView& dy, const TensorView& k, const TensorView& w, const TensorView& dk,
                     const TensorView& dw, Stream stream) {
  run_cached(DwconvProblem::of_gradient(dy, k, w, dk, dw), planned, k.device, stream,
             [&](const DwconvPlan& plan, Workspace) { return plan.run_gradient(dy, k, w, dk, dw, stream); });
}

}  // namespace ridge
