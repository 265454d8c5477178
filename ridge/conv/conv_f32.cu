// conv2d of f32.
#include <ridge/conv/dispatch.cuh>

namespace ridge::conv_detail {

template <> Status launch_f32<simt::Backend>(const Arguments& args) { return launch_table<float>(args); }

}  // namespace ridge::conv_detail
