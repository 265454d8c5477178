// conv2d of f16.
#include <ridge/conv/dispatch.cuh>

namespace ridge::conv_detail {

template <> Status launch_f16<simt::Backend>(const Arguments& args) { return launch_table<half>(args); }

}  // namespace ridge::conv_detail
