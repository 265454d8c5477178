// conv2d of bf16.
#include <ridge/conv/dispatch.cuh>

namespace ridge::conv_detail {

template <> Status launch_bf16<simt::Backend>(const Arguments& args) { return launch_table<bfloat16>(args); }

}  // namespace ridge::conv_detail
