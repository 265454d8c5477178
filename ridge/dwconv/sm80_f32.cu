// f32 on tensor cores by mma.sync, from Ampere on.
#include <ridge/dwconv/sm80_launch.cuh>

namespace ridge::dwconv_detail {

Status launch_tensor_f32(const Arguments& args) { return launch_tensor_table<float>(args); }

}  // namespace ridge::dwconv_detail
