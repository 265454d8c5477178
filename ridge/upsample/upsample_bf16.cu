// upsample of bf16.
#include <ridge/upsample/dispatch.cuh>

namespace ridge::upsample_detail {

template <> Status launch_bf16<simt::Backend>(const Arguments& args) { return launch_table<bfloat16>(args); }

}  // namespace ridge::upsample_detail
