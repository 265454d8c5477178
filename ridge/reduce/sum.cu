// sum and mean.
#include <ridge/reduce/launch.cuh>

namespace ridge::reduce_detail {

template <> Status launch_sum<simt::Backend>(const Arguments& args) {
  return Types::visit(args.plan.problem.dtype, Status{},
                      [&]<class T>() { return launch_table<Reduce::sum, Sum<T>>(args); });
}

}  // namespace ridge::reduce_detail
