// f16: gradients.
#include <ridge/attention/gradient_launch.cuh>

namespace ridge::attention_detail {

template <> Status launch_gradient_f16<simt::Backend>(const Call& call) { return launch_gradient_table<half>(call); }

}  // namespace ridge::attention_detail
