// f16 on tensor cores by mma.sync, from Ampere on.
#include <ridge/gemm/sm80_launch.cuh>

namespace ridge::gemm_detail {

Status launch_mma_f16(const Arguments& args) { return launch_mma_table<half>(args); }

}  // namespace ridge::gemm_detail
