// max and min.
#include <ridge/reduce/dispatch.cuh>

namespace ridge::reduce_detail {

template <> Status launch_extreme<simt::Backend>(const Arguments& args) {
  return Types::visit(args.plan.problem.dtype, Status{}, [&]<class T>() {
    return args.plan.problem.function == Reduce::max ? launch_table<Reduce::max, Extremum<true, T>>(args)
                                                     : launch_table<Reduce::min, Extremum<false, T>>(args);
  });
}

}  // namespace ridge::reduce_detail
