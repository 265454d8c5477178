// float32 on Hopper: multiply-adds of what TMA gathers.
#include <ridge/conv/sm90_dispatch.cuh>

namespace ridge::conv_detail {

Status launch_fma(const Arguments& args) { return launch_fma_table<float>(args); }

}  // namespace ridge::conv_detail
