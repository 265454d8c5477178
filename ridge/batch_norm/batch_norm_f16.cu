// Batch normalisation of f16.
#include <ridge/batch_norm/dispatch.cuh>

namespace ridge::batch_norm_detail {

template <> Status launch_f16<simt::Backend>(const Arguments& args) { return launch_tables<half>(args); }

}  // namespace ridge::batch_norm_detail
