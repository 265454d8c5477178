// Both gradients, each by a plan of its own: what suits dx may not suit dw. The gradient of patches is an example: dx
// is one product whose sums are stored where they lie, and dw sums over pixels.
#pragma once
#include <ridge/conv/launch.hpp>
#include <ridge/conv/plan_time.hpp>
#include <ridge/conv/problem.hpp>

#include <vector>

namespace ridge::conv_detail::each_gradient {

// The same problem with one gradient alone.
inline ConvProblem problem_of(const ConvProblem& p, Pass pass) {
  ConvProblem one = p;
  (pass == Pass::inputs ? one.dw : one.dx).reset();
  return one;
}
inline constexpr Pass passes[] = {Pass::inputs, Pass::filters};

// No plan is made here: each gradient has one, if only of the table's first row, to which this size is possible.
inline std::string fits(const Variant&, const SplitProblem& s, const DeviceInfo&) {
  constexpr std::int64_t most = std::int64_t{1} << 38;
  const ConvProblem& p = s.problem;
  if (!has_dx(p) || !has_dw(p)) return "it is for both gradients";
  if (p.y.count() == 0) return no_products;
  return std::max({p.x.count(), p.y.count(), p.w.count()}) >= most ? "tensors of 2^38 elements or more" : "";
}

// The plans of dx and dw, which run one after the other. Precondition of this and what follows: the row fits.
inline std::vector<ConvPlan> plans_of(const ConvProblem& p, const DeviceInfo& device) {
  std::vector<ConvPlan> plans;
  for (const Pass pass : passes) plans.push_back(*plan_conv2d(problem_of(p, pass), device));
  return plans;
}

inline std::size_t workspace_of(const std::vector<ConvPlan>& plans) {
  return std::max(plans[0].workspace, plans[1].workspace);
}

// The first launch, and the workspace of both.
inline Footprint footprint(const Variant&, const SplitProblem& s, const DeviceInfo& device) {
  const std::vector<ConvPlan> plans = plans_of(s.problem, device);
  const roofline::Kernel first = kernel_of(plans[0]);
  return {first.blocks, first.block.threads, first.block.registers, first.block.smem, workspace_of(plans)};
}

// Both predictions, whole.
inline roofline::Kernel model(const Variant&, const SplitProblem& s, const DeviceInfo& device) {
  roofline::Kernel k;
  k.cost = cost(s.problem);
  k.blocks = k.launches = 0;
  for (const ConvPlan& plan : plans_of(s.problem, device)) k.serial_us += predicted_us(plan);
  return k;
}

inline std::string_view lesson(const Variant&) { return {}; }

inline constexpr Family family{fits, footprint, model, lesson};

// Fills an explanation: a term for each gradient, which names its row.
inline void account(Explanation& e, const ConvPlan& plan) {
  double us = 0;
  std::vector<Analysis::Term> terms;
  for (const ConvPlan& one : plan.nested) {
    terms.push_back({one.problem.dx ? "dx" : "dw", predicted_us(one), "by " + row_of(one)});
    us += terms.back().us;
  }
  roofline::Kernel first = kernel_of(plan);
  first.cost = cost(plan.problem);
  roofline::account(e, first, us, std::move(terms), plan.device);
}

inline Status run(const Arguments& args) {
  for (const ConvPlan& one : args.plan.nested)
    RIDGE_TRY(launch_plan({.plan = one,
                           .x = args.x,
                           .w = args.w,
                           .dy = args.dy,
                           .dx = one.problem.dx ? args.dx : nullptr,
                           .dw = one.problem.dw ? args.dw : nullptr,
                           .workspace = args.workspace,
                           .stream = args.stream}));
  return {};
}

}  // namespace ridge::conv_detail::each_gradient
