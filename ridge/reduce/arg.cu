// argmax and argmin.
#include <ridge/reduce/dispatch.cuh>

namespace ridge::reduce_detail {

template <> Status launch_arg<simt::Backend>(const Arguments& args) {
  return Types::visit(args.plan.problem.dtype, Status{}, [&]<class T>() {
    return args.plan.problem.function == Reduce::argmax ? launch_table<Reduce::argmax, ArgExtremum<true, T>>(args)
                                                        : launch_table<Reduce::argmin, ArgExtremum<false, T>>(args);
  });
}

}  // namespace ridge::reduce_detail
