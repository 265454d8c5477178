// f16 and bf16: the portable rows of the gradients.
#include <ridge/attention/launch.cuh>

namespace ridge::attention_detail {

template <> Status launch_gradient_16bit<simt::Backend>(const Call& call) {
  return call.problem.dtype == f16 ? launch_portable_gradient<half>(call) : launch_portable_gradient<bfloat16>(call);
}

}  // namespace ridge::attention_detail
