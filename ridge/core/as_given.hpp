// A plan for the tensors that a run is given, which may lie elsewhere than those that were planned for.
#pragma once

namespace ridge {

// f(plan), with `given` as its problem. The copy is made only where the problems differ.
template <class Plan, class Problem, class F> decltype(auto) as_given(const Plan& plan, const Problem& given, F&& f) {
  if (given == plan.problem) return f(plan);
  Plan moved = plan;
  moved.problem = given;
  return f(moved);
}

}  // namespace ridge
