// bf16 on Hopper's tensor cores.
#include <ridge/gemm/sm90_launch.cuh>

namespace ridge::gemm_detail {

Status launch_wgmma_bf16(const Arguments& args) { return launch_hopper_table<Family::wgmma, bfloat16>(args); }

}  // namespace ridge::gemm_detail
