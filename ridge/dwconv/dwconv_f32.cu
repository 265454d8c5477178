// dwconv of f32.
#include <ridge/dwconv/dispatch.cuh>

namespace ridge::dwconv_detail {

template <> Status launch_f32<simt::Backend>(const Arguments& args) { return launch_table<float>(args); }

}  // namespace ridge::dwconv_detail
