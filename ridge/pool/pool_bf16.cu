// max_pool2d, avg_pool2d and adaptive_avg_pool2d of bf16.
#include <ridge/pool/dispatch.cuh>

namespace ridge::pool_detail {

template <> Status launch_bf16<simt::Backend>(const Arguments& args) { return launch_table<bfloat16>(args); }

}  // namespace ridge::pool_detail
