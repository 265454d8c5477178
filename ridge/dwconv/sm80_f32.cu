// f32 on tensor cores by mma.sync, from Ampere on.
#include <ridge/dwconv/sm80_dispatch.cuh>

namespace ridge::dwconv_detail {

Status launch_tensor_f32(const Arguments& args) { return launch_tensor_table<float>(args); }
Status launch_lags_f32(const Arguments& args) { return launch_lags<float>(args, w_gradient_sum<float>(args)); }

}  // namespace ridge::dwconv_detail
