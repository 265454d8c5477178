// A plan for the tensors of a run, whose addresses may differ from those that were planned for.
#pragma once

namespace ridge {

// Calls f(plan) with `given` as the plan's problem. Copies the plan only where the problems differ; adapt(copy) sets
// what else depends on addresses.
template <class Plan, class Problem, class F, class Adapt>
decltype(auto) as_given(const Plan& plan, const Problem& given, F&& f, Adapt&& adapt) {
  if (given == plan.problem) return f(plan);
  Plan moved = plan;
  moved.problem = given;
  adapt(moved);
  return f(moved);
}
template <class Plan, class Problem, class F> decltype(auto) as_given(const Plan& plan, const Problem& given, F&& f) {
  return as_given(plan, given, f, [](Plan&) {});
}

}  // namespace ridge
