// float32: gradients.
#include <ridge/attention/gradient_launch.cuh>

namespace ridge::attention_detail {

template <> Status launch_gradient_f32<simt::Backend>(const Call& call) {
  return launch_row<GradientRows<float>>(call);
}

}  // namespace ridge::attention_detail
