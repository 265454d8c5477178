// float32: every portable row.
#include <ridge/attention/launch.cuh>

namespace ridge::attention_detail {

template <> Status launch_f32<simt::Backend>(const Call& call) { return launch_portable<float>(call); }

}  // namespace ridge::attention_detail
