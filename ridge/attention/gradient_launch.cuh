// Launches the row of the table that a plan for gradients chose. Internal to its unit, as launch.cuh is.
#pragma once
#include <ridge/attention/gradient_tile.cuh>
#include <ridge/attention/launch_arguments.cuh>

#include <utility>

namespace ridge::attention_detail {
namespace {

template <class T> GradientArguments<T> gradient_arguments_of(const Call& call) {
  const AttentionProblem& p = call.problem;
  const AttentionGradientTensors& t = *call.gradient;
  const auto strides = [](const AttentionOperand& o) { return Strides{o.batch, o.head, o.row, o.element}; };
  GradientArguments<T> a{};
  static_cast<Arguments<T>&>(a) = arguments_of<T>(call);
  a.grad_o = static_cast<const T*>(t.grad_o.data);
  a.grad_q = static_cast<T*>(t.grad_q.data);
  a.grad_k = static_cast<T*>(t.grad_k.data);
  a.grad_v = static_cast<T*>(t.grad_v.data);
  a.at_grad_o = strides(*p.grad_o);
  a.at_grad_q = strides(*p.grad_q);
  a.at_grad_k = strides(*p.grad_k);
  a.at_grad_v = strides(*p.grad_v);
  a.key_heads = static_cast<int>(p.hkv);
  a.facts = static_cast<QueryFacts*>(call.workspace.data);
  for (const auto& operand : {p.grad_o, p.grad_q, p.grad_k, p.grad_v})
    a.vectors = a.vectors && has_vectors(*operand, p.dtype);
  return a;
}

// The rows of one side, if there are any.
template <Side S, int I, class T> Status launch_side(const Call& call, const GradientArguments<T>& args, int warp) {
  constexpr Config c = variants[I].config;
  const std::int64_t blocks = S == Side::queries ? query_blocks(c, call.problem) : key_blocks(c, call.problem);
  if (blocks == 0) return {};
  simt::Config at = grid_of(c, call, warp);
  at.grid = dim3(static_cast<unsigned>(blocks));
  if constexpr (c.family == Family::naive) return simt::launch(at, attention_gradient_naive<S, Row<I>, T>, args);
  else return simt::launch(at, attention_gradient_tile<S, Row<I>, T>, args);
}

template <class T> Status launch_facts(const Call& call, const GradientArguments<T>& args, int warp) {
  constexpr std::int64_t rows = facts_threads / facts_lanes;
  if (args.rows == 0) return {};
  return simt::launch({.grid = dim3(static_cast<unsigned>((args.rows + rows - 1) / rows)),
                       .block = dim3(facts_threads),
                       .smem = 0,
                       .stream = call.stream.handle,
                       .warp = warp},
                      attention_gradient_facts<T>, args);
}

template <int I, class T> Status launch_gradient_row(const Call& call) {
  const auto args = gradient_arguments_of<T>(call);
  const int warp = call.plan.device.warp;
  RIDGE_TRY(launch_facts(call, args, warp));
  RIDGE_TRY((launch_side<Side::keys, I>(call, args, warp)));
  return launch_side<Side::queries, I>(call, args, warp);
}

template <class T, int I> constexpr auto gradient_launcher() -> Status (*)(const Call&) {
  if constexpr (has_gradient(variants[I].config) && is_portable(variants[I].config)) return launch_gradient_row<I, T>;
  else return nullptr;  // refused by fits(), or launched elsewhere
}

template <class T, int... I> Status launch_gradient_table(const Call& call, std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Call&) = {gradient_launcher<T, I>()...};
  return launchers[call.plan.variant](call);
}

template <class T> Status launch_gradient_table(const Call& call) {
  return launch_gradient_table<T>(call, std::make_integer_sequence<int, variant_count>{});
}

}  // namespace
}  // namespace ridge::attention_detail
