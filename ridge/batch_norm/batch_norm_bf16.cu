// Batch normalisation of bf16.
#include <ridge/batch_norm/dispatch.cuh>

namespace ridge::batch_norm_detail {

template <> Status launch_bf16<simt::Backend>(const Arguments& args) { return launch_tables<bfloat16>(args); }

}  // namespace ridge::batch_norm_detail
