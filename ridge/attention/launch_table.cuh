// From the row that a plan chose to its launch. Internal to its unit, as launch_arguments.cuh is.
#pragma once
#include <ridge/attention/launch_arguments.cuh>

#include <utility>

namespace ridge::attention_detail {
namespace {

// The rows that a .cu file has are a type: has(Variant) says which they are, and launch<I>(Call) launches row I. Here
// those of one family and one type of elements; a family's .cuh adds the launch.
template <Algorithm A, class T> struct RowsOf {
  static constexpr bool has(const Variant& row) {
    return row.config.algorithm == A && is_instantiated(row, dtype_of<T>);
  }
};

// Those of several.
template <class... Of> struct RowsOfAny;
template <class First, class... Rest> struct RowsOfAny<First, Rest...> {
  static constexpr bool has(const Variant& row) { return First::has(row) || (Rest::has(row) || ...); }
  template <int I> static Status launch(const Call& call) {
    if constexpr (First::has(variants[I])) return First::template launch<I>(call);
    else return RowsOfAny<Rest...>::template launch<I>(call);
  }
};

template <class Rows, int I> constexpr auto launcher() -> Status (*)(const Call&) {
  if constexpr (Rows::has(variants[I])) return Rows::template launch<I>;
  else return nullptr;  // refused by fits(), or another file's
}

template <class Rows, int... I> Status launch_row(const Call& call, std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Call&) = {launcher<Rows, I>()...};
  return launchers[call.plan.variant](call);
}

// Precondition: the plan's row is one of Rows.
template <class Rows> Status launch_row(const Call& call) {
  return launch_row<Rows>(call, std::make_integer_sequence<int, variant_count>{});
}

}  // namespace
}  // namespace ridge::attention_detail
