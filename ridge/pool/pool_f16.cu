// max_pool2d, avg_pool2d and adaptive_avg_pool2d of f16.
#include <ridge/pool/dispatch.cuh>

namespace ridge::pool_detail {

template <> Status launch_f16<simt::Backend>(const Arguments& args) { return launch_table<half>(args); }

}  // namespace ridge::pool_detail
