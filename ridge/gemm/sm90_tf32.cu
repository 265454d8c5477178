// float32 as TF32, and as three products of TF32 parts.
#include <ridge/gemm/sm90_launch.cuh>

namespace ridge::gemm_detail {

Status launch_wgmma_tf32(const Arguments& args) { return launch_hopper_table<Family::wgmma, float>(args); }

}  // namespace ridge::gemm_detail
