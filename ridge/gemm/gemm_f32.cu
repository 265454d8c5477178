#include <ridge/gemm/launch.cuh>

namespace ridge::gemm_detail {

template <> Status launch_f32<simt::Backend>(const Arguments& args) { return launch_table<float, float>(args); }

}  // namespace ridge::gemm_detail
