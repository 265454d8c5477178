// Signed bytes, with split-K over a cluster's blocks: sums in int32, and D in int32 or by way of float32.
#include <ridge/gemm/sm90_launch.cuh>

namespace ridge::gemm_detail {

Status launch_split_i8(const Arguments& args) {
  return args.problem.out == i32 ? launch_hopper_table<Family::wgmma_split, std::int8_t, std::int32_t>(args)
                                 : launch_hopper_table<Family::wgmma_split, std::int8_t>(args);
}

}  // namespace ridge::gemm_detail
