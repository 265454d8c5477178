#include <ridge/gemm/launch.cuh>

namespace ridge::gemm_detail {

template <> Status launch_f64<simt::Backend>(const Arguments& args) { return launch_table<double, double>(args); }

}  // namespace ridge::gemm_detail
