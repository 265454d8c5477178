// float32 as TF32 on Hopper's tensor cores.
#include <ridge/conv/sm90_dispatch.cuh>

namespace ridge::conv_detail {

Status launch_wgmma_tf32(const Arguments& args) { return launch_wgmma_table<float>(args); }

}  // namespace ridge::conv_detail
