// upsample of f16.
#include <ridge/upsample/dispatch.cuh>

namespace ridge::upsample_detail {

template <> Status launch_f16<simt::Backend>(const Arguments& args) { return launch_table<half>(args); }

}  // namespace ridge::upsample_detail
