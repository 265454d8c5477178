// 8-bit floats on tensor cores by mma.sync, from Ada on.
#include <ridge/gemm/sm80_launch.cuh>

namespace ridge::gemm_detail {

Status launch_mma_fp8(const Arguments& args) {
  return args.problem.dtype == f8e4m3 ? launch_mma_table<float8_e4m3>(args) : launch_mma_table<float8_e5m2>(args);
}

}  // namespace ridge::gemm_detail
