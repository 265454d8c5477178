// f16 and bf16.
#include <ridge/gemm/launch.cuh>

namespace ridge::gemm_detail {

template <> Status launch_16bit<simt::Backend>(const Arguments& args) {
  return args.problem.dtype == f16 ? launch_table<half, float>(args) : launch_table<bfloat16, float>(args);
}

}  // namespace ridge::gemm_detail
