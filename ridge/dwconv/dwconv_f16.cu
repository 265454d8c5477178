// dwconv of f16.
#include <ridge/dwconv/dispatch.cuh>

namespace ridge::dwconv_detail {

template <> Status launch_f16<simt::Backend>(const Arguments& args) { return launch_table<half>(args); }

}  // namespace ridge::dwconv_detail
