// f64 on tensor cores by mma.sync, from Ampere on.
#include <ridge/gemm/sm80_launch.cuh>

namespace ridge::gemm_detail {

Status launch_mma_f64(const Arguments& args) { return launch_mma_table<double>(args); }

}  // namespace ridge::gemm_detail
