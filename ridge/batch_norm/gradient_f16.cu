// Gradients of batch normalisation of f16.
#include <ridge/batch_norm/gradient_dispatch.cuh>

namespace ridge::batch_norm_detail {

template <> Status launch_gradient_f16<simt::Backend>(const GradientArguments& args) {
  return launch_gradient_tables<half>(args);
}

}  // namespace ridge::batch_norm_detail
