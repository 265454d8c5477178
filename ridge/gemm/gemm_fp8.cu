// f8e4m3 and f8e5m2.
#include <ridge/gemm/launch.cuh>

namespace ridge::gemm_detail {

template <> Status launch_fp8<simt::Backend>(const Arguments& args) {
  return args.problem.dtype == f8e4m3 ? launch_table<float8_e4m3, float>(args) : launch_table<float8_e5m2, float>(args);
}

}  // namespace ridge::gemm_detail
