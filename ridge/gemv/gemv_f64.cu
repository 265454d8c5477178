#include <ridge/gemv/launch.cuh>

namespace ridge::gemv_detail {

template <> Status launch_f64<simt::Backend>(const Arguments& args) { return launch_table<double>(args); }

}  // namespace ridge::gemv_detail
