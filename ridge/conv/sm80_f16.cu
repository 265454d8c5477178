// Few channels of f16 on tensor cores by mma.sync, from Ampere on.
#include <ridge/conv/sm80_dispatch.cuh>

namespace ridge::conv_detail {

Status launch_mma_f16(const Arguments& args) { return launch_mma_table<half>(args); }

}  // namespace ridge::conv_detail
