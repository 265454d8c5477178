// bf16 on tensor cores by mma.sync, from Ampere on.
#include <ridge/dwconv/sm80_dispatch.cuh>

namespace ridge::dwconv_detail {

Status launch_tensor_bf16(const Arguments& args) { return launch_tensor_table<bfloat16>(args); }

}  // namespace ridge::dwconv_detail
