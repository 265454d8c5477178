// f16, with split-K over a cluster's blocks.
#include <ridge/gemm/sm90_launch.cuh>

namespace ridge::gemm_detail {

Status launch_split_f16(const Arguments& args) { return launch_hopper_table<Family::wgmma_split, half>(args); }

}  // namespace ridge::gemm_detail
