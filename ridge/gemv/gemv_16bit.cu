// f16 and bf16.
#include <ridge/gemv/launch.cuh>

namespace ridge::gemv_detail {

template <> Status launch_16bit<simt::Backend>(const Arguments& args) {
  return args.plan.problem.dtype == f16 ? launch_table<half>(args) : launch_table<bfloat16>(args);
}

}  // namespace ridge::gemv_detail
