// dot.
#include <ridge/reduce/dispatch.cuh>

namespace ridge::reduce_detail {

template <> Status launch_dot<simt::Backend>(const Arguments& args) {
  return Types::visit(args.plan.problem.dtype, Status{},
                      [&]<class T>() { return launch_table<Reduce::dot, Dot<T>>(args); });
}

}  // namespace ridge::reduce_detail
