// float32: gradients.
#include <ridge/attention/launch.cuh>

namespace ridge::attention_detail {

template <> Status launch_gradient_f32<simt::Backend>(const Call& call) {
  return launch_portable_gradient<float>(call);
}

}  // namespace ridge::attention_detail
