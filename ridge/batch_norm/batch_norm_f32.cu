// Batch normalisation of f32.
#include <ridge/batch_norm/dispatch.cuh>

namespace ridge::batch_norm_detail {

template <> Status launch_f32<simt::Backend>(const Arguments& args) { return launch_tables<float>(args); }

}  // namespace ridge::batch_norm_detail
