// float32 as TF32 on tensor cores by mma.sync, from Ampere on.
#include <ridge/gemm/sm80_launch.cuh>

namespace ridge::gemm_detail {

Status launch_mma_tf32(const Arguments& args) { return launch_mma_table<float>(args); }

}  // namespace ridge::gemm_detail
