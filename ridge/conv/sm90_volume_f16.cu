// Volumes of f16 on Hopper's tensor cores.
#include <ridge/conv/sm90_dispatch.cuh>

namespace ridge::conv_detail {

Status launch_volume_f16(const Arguments& args) { return launch_volume_table<half>(args); }

}  // namespace ridge::conv_detail
