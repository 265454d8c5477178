// sum, mean, trace and dot of float32, accumulated in double-floats.
#include <ridge/reduce/dispatch.cuh>
#include <ridge/reduce/two_float.cuh>

namespace ridge::reduce_detail {

template <> Status launch_two_float<simt::Backend>(const Arguments& args) {
  return args.plan.problem.function == Reduce::dot
             ? launch_table<Reduce::dot, TwoFloatDot, Accumulate::two_float>(args)
             : launch_table<Reduce::sum, TwoFloatSum, Accumulate::two_float>(args);
}

}  // namespace ridge::reduce_detail
