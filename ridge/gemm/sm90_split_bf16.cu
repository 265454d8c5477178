// bf16, with split-K over a cluster's blocks.
#include <ridge/gemm/sm90_launch.cuh>

namespace ridge::gemm_detail {

Status launch_split_bf16(const Arguments& args) { return launch_hopper_table<Family::wgmma_split, bfloat16>(args); }

}  // namespace ridge::gemm_detail
