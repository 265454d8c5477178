// f16 and bf16: gradients of short sequences, from Ampere on.
#include <ridge/attention/sm80_gradient_short.cuh>

namespace ridge::attention_detail {

Status launch_short_gradient(const Call& call) {
  return call.problem.dtype == f16 ? launch_row<ShortGradientRows<half>>(call)
                                   : launch_row<ShortGradientRows<bfloat16>>(call);
}

}  // namespace ridge::attention_detail
