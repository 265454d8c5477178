// f16 and bf16: gradients on Hopper's tensor cores.
#include <ridge/attention/sm90_gradient.cuh>

namespace ridge::attention_detail {

Status launch_wgmma_gradient(const Call& call) {
  return call.problem.dtype == f16 ? launch_row<WgmmaGradientRows<half>>(call)
                                   : launch_row<WgmmaGradientRows<bfloat16>>(call);
}

}  // namespace ridge::attention_detail
