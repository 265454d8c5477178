// Gradients of max_pool2d, avg_pool2d and adaptive_avg_pool2d of f32.
#include <ridge/pool/gradient_dispatch.cuh>

namespace ridge::pool_detail {

template <> Status launch_gradient_f32<simt::Backend>(const GradientArguments& args) {
  return launch_gradient_table<float>(args);
}

}  // namespace ridge::pool_detail
