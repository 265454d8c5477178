// Gradients of batch normalisation of f32.
#include <ridge/batch_norm/gradient_dispatch.cuh>

namespace ridge::batch_norm_detail {

template <> Status launch_gradient_f32<simt::Backend>(const GradientArguments& args) {
  return launch_gradient_tables<float>(args);
}

}  // namespace ridge::batch_norm_detail
