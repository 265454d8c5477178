// 8-bit floats, with split-K over a cluster's blocks.
#include <ridge/gemm/sm90_launch.cuh>

namespace ridge::gemm_detail {

Status launch_split_fp8(const Arguments& args) {
  return args.problem.dtype == f8e4m3 ? launch_hopper_table<Family::wgmma_split, float8_e4m3>(args)
                                      : launch_hopper_table<Family::wgmma_split, float8_e5m2>(args);
}

}  // namespace ridge::gemm_detail
