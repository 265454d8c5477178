// f16 and bf16: the portable rows of the gradients.
#include <ridge/attention/gradient_launch.cuh>

namespace ridge::attention_detail {

template <> Status launch_gradient_16bit<simt::Backend>(const Call& call) {
  return call.problem.dtype == f16 ? launch_row<GradientRows<half>>(call) : launch_row<GradientRows<bfloat16>>(call);
}

}  // namespace ridge::attention_detail
