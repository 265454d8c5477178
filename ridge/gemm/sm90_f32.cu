// float32 by multiply-adds, from tiles loaded by TMA.
#include <ridge/gemm/sm90_launch.cuh>

namespace ridge::gemm_detail {

Status launch_tma_tile_f32(const Arguments& args) { return launch_hopper_table<Family::tma_tile, float>(args); }

}  // namespace ridge::gemm_detail
