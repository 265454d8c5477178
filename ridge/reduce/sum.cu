// sum and mean.
#include <ridge/reduce/dispatch.cuh>

namespace ridge::reduce_detail {

template <> Status launch_sum<simt::Backend>(const Arguments& args) {
  return Types::visit(args.plan.problem.dtype, Status{}, [&]<class T>() {
    if constexpr (has_wide_mean<T>)
      if (args.plan.problem.function == Reduce::mean) return launch_table<Reduce::mean, WideMean<T>>(args);
    return launch_table<Reduce::sum, Sum<T>>(args);
  });
}

}  // namespace ridge::reduce_detail
