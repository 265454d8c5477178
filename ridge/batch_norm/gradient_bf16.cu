// Gradients of batch normalisation of bf16.
#include <ridge/batch_norm/gradient_dispatch.cuh>

namespace ridge::batch_norm_detail {

template <> Status launch_gradient_bf16<simt::Backend>(const GradientArguments& args) {
  return launch_gradient_tables<bfloat16>(args);
}

}  // namespace ridge::batch_norm_detail
