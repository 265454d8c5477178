// bf16: gradients.
#include <ridge/attention/gradient_launch.cuh>

namespace ridge::attention_detail {

template <> Status launch_gradient_bf16<simt::Backend>(const Call& call) {
  return launch_gradient_table<bfloat16>(call);
}

}  // namespace ridge::attention_detail
