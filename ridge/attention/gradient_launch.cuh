// Launches of the portable rows of the gradients, and what the others' have in common with them.
#pragma once
#include <ridge/attention/gradient_tile.cuh>
#include <ridge/attention/launch_table.cuh>

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

template <class T> Status launch_facts(const Call& call, const GradientArguments<T>& args) {
  constexpr std::int64_t rows = facts_threads / facts_lanes;
  return simt::launch({.grid = dim3(static_cast<unsigned>((args.rows + rows - 1) / rows)),
                       .block = dim3(facts_threads),
                       .smem = 0,
                       .stream = call.stream.handle,
                       .warp = call.plan.device.warp},
                      attention_gradient_facts<T>, args);
}

template <class T> struct GradientRows {
  static constexpr bool has(const Variant& row) {
    return is_portable(row.config) && has_gradient(row.config) && is_instantiated(row, dtype_of<T>);
  }
  template <Side S, int I> static Status launch_side(const Call& call, const GradientArguments<T>& args) {
    constexpr Config c = variants[I].config;
    const auto at = grid_of(c, call, S == Side::queries ? query_blocks(c, call.problem) : key_blocks(c, call.problem));
    if constexpr (c.family == Family::naive) return simt::launch(at, attention_gradient_naive<S, Row<I>, T>, args);
    else return simt::launch(at, attention_gradient_tile<S, Row<I>, T>, args);
  }
  template <int I> static Status launch(const Call& call) {
    const auto args = gradient_arguments_of<T>(call);
    RIDGE_TRY(launch_facts(call, args));
    RIDGE_TRY((launch_side<Side::keys, I>(call, args)));
    return launch_side<Side::queries, I>(call, args);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
