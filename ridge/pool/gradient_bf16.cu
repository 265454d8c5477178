// Gradients of max_pool2d, avg_pool2d and adaptive_avg_pool2d of bf16.
#include <ridge/pool/gradient_dispatch.cuh>

namespace ridge::pool_detail {

template <> Status launch_gradient_bf16<simt::Backend>(const GradientArguments& args) {
  return launch_gradient_table<bfloat16>(args);
}

}  // namespace ridge::pool_detail
