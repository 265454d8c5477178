// float32 as TF32, with split-K over a cluster's blocks.
#include <ridge/gemm/sm90_launch.cuh>

namespace ridge::gemm_detail {

Status launch_split_tf32(const Arguments& args) { return launch_hopper_table<Family::wgmma_split, float>(args); }

}  // namespace ridge::gemm_detail
