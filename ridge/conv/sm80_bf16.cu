// Few channels of bf16 on tensor cores by mma.sync, from Ampere on.
#include <ridge/conv/sm80_dispatch.cuh>

namespace ridge::conv_detail {

Status launch_mma_bf16(const Arguments& args) { return launch_mma_table<bfloat16>(args); }

}  // namespace ridge::conv_detail
