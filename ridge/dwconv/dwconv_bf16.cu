// dwconv of bf16.
#include <ridge/dwconv/dispatch.cuh>

namespace ridge::dwconv_detail {

template <> Status launch_bf16<simt::Backend>(const Arguments& args) { return launch_table<bfloat16>(args); }

}  // namespace ridge::dwconv_detail
