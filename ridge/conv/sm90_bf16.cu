// bf16 on Hopper's tensor cores.
#include <ridge/conv/sm90_dispatch.cuh>

namespace ridge::conv_detail {

Status launch_wgmma_bf16(const Arguments& args) { return launch_wgmma_table<bfloat16>(args); }

}  // namespace ridge::conv_detail
