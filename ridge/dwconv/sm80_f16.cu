// f16 on tensor cores by mma.sync, from Ampere on.
#include <ridge/dwconv/sm80_dispatch.cuh>

namespace ridge::dwconv_detail {

Status launch_tensor_f16(const Arguments& args) { return launch_tensor_table<half>(args); }

}  // namespace ridge::dwconv_detail
