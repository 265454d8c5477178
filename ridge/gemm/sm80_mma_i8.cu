// Signed bytes on tensor cores by mma.sync, from Ampere on: sums in int32, and D in int32 or by way of float32.
#include <ridge/gemm/sm80_launch.cuh>

namespace ridge::gemm_detail {

Status launch_mma_i8(const Arguments& args) {
  return args.problem.out == i32 ? launch_mma_table<std::int8_t>(args) : launch_mma_table<std::int8_t, float>(args);
}

}  // namespace ridge::gemm_detail
