// upsample of f32.
#include <ridge/upsample/dispatch.cuh>

namespace ridge::upsample_detail {

template <> Status launch_f32<simt::Backend>(const Arguments& args) { return launch_table<float>(args); }

}  // namespace ridge::upsample_detail
