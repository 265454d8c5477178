// Dispatches a plan's row to its launch. Internal to its translation unit, like launch_arguments.cuh.
#pragma once
#include <ridge/attention/launch_arguments.cuh>
#include <ridge/core/table.hpp>

namespace ridge::attention_detail {
namespace {

// The rows of a .cu file are a type: has(Variant) says which they are, and launch<I>(Call) launches row I. This one has
// the rows of one algorithm and one element type; a family's .cuh adds the launch.
template <Algorithm A, class T> struct RowsOf {
  static constexpr bool has(const Variant& row) {
    return row.config.algorithm == A && is_instantiated(row, dtype_of<T>);
  }
};

// Union of several.
template <class... Of> struct RowsOfAny;
template <class First, class... Rest> struct RowsOfAny<First, Rest...> {
  static constexpr bool has(const Variant& row) { return First::has(row) || (Rest::has(row) || ...); }
  template <int I> static Status launch(const Call& call) {
    if constexpr (First::has(variants[I])) return First::template launch<I>(call);
    else return RowsOfAny<Rest...>::template launch<I>(call);
  }
};

// Precondition: the plan's row is one of Rows.
template <class Rows> Status launch_row(const Call& call) {
  return visit_row<variant_count>(call.plan.variant, [&]<int I>() {
    if constexpr (Rows::has(variants[I])) return Rows::template launch<I>(call);
    else return Status::error(Code::unsupported, "attention: this variant is launched elsewhere");
  });
}

}  // namespace
}  // namespace ridge::attention_detail
