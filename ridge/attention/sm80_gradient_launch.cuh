// Launches the row of Family::mma_gradient that a plan chose.
#pragma once
#include <ridge/attention/gradient_launch.cuh>
#include <ridge/attention/sm80_gradient.cuh>

#include <utility>

namespace ridge::attention_detail {
namespace {

template <Sum Of, int I, class T> Status launch_gradient_sum(const Call& call, const GradientArguments<T>& args) {
  constexpr Config c = variants[I].config;
  const std::int64_t blocks = Of == Sum::dq ? query_blocks(c, call.problem) : key_blocks(c, call.problem);
  if (blocks == 0) return {};
  simt::Config at = grid_of(c, call, simt::native_warp);
  at.grid = dim3(static_cast<unsigned>(blocks));
  return simt::launch(at, attention_gradient_mma<Of, Row<I>, T>, args);
}

template <int I, class T> Status launch_gradient_mma_row(const Call& call) {
  const auto args = gradient_arguments_of<T>(call);
  RIDGE_TRY(launch_facts(call, args, simt::native_warp));
  RIDGE_TRY((launch_gradient_sum<Sum::dk, I>(call, args)));
  RIDGE_TRY((launch_gradient_sum<Sum::dv, I>(call, args)));
  return launch_gradient_sum<Sum::dq, I>(call, args);
}

template <class T, int I> constexpr auto mma_gradient_launcher() -> Status (*)(const Call&) {
  if constexpr (variants[I].config.family == Family::mma_gradient) return launch_gradient_mma_row<I, T>;
  else return nullptr;  // refused by fits(), or launched elsewhere
}

template <class T, int... I> Status launch_mma_gradient_table(const Call& call, std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Call&) = {mma_gradient_launcher<T, I>()...};
  return launchers[call.plan.variant](call);
}

template <class T> Status launch_mma_gradient(const Call& call) {
  return launch_mma_gradient_table<T>(call, std::make_integer_sequence<int, variant_count>{});
}

}  // namespace
}  // namespace ridge::attention_detail
