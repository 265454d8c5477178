// Launches of the rows of Family::mma_gradient.
#pragma once
#include <ridge/attention/gradient_launch.cuh>
#include <ridge/attention/sm80_gradient.cuh>

namespace ridge::attention_detail {
namespace {

template <class T> struct MmaGradientRows : RowsOf<Family::mma_gradient, T> {
  template <Sum Of, int I> static Status launch_sum(const Call& call, const GradientArguments<T>& args) {
    constexpr Config c = variants[I].config;
    const auto at = grid_of(c, call, Of == Sum::dq ? query_blocks(c, call.problem) : key_blocks(c, call.problem));
    return simt::launch(at, attention_gradient_mma<Of, Row<I>, T>, args);
  }
  template <int I> static Status launch(const Call& call) {
    const auto args = gradient_arguments_of<T>(call);
    RIDGE_TRY(launch_facts(call, args));
    RIDGE_TRY((launch_sum<Sum::dk, I>(call, args)));
    RIDGE_TRY((launch_sum<Sum::dv, I>(call, args)));
    return launch_sum<Sum::dq, I>(call, args);
  }
};

}  // namespace
}  // namespace ridge::attention_detail
