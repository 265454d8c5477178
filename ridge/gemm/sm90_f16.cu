// f16 on Hopper's tensor cores.
#include <ridge/gemm/sm90_launch.cuh>

namespace ridge::gemm_detail {

Status launch_wgmma_f16(const Arguments& args) { return launch_hopper_table<Family::wgmma, half>(args); }

}  // namespace ridge::gemm_detail
