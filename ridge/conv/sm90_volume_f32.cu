// Volumes of float32 on Hopper: multiply-adds of what TMA gathers, and TF32 on tensor cores.
#include <ridge/conv/sm90_dispatch.cuh>

namespace ridge::conv_detail {

Status launch_volume_f32(const Arguments& args) { return launch_volume_table<float>(args); }

}  // namespace ridge::conv_detail
