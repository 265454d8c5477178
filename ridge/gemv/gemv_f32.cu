#include <ridge/gemv/launch.cuh>

namespace ridge::gemv_detail {

template <> Status launch_f32<simt::Backend>(const Arguments& args) { return launch_table<float>(args); }

}  // namespace ridge::gemv_detail
