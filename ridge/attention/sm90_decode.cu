// f16 and bf16, few queries against many keys, on Hopper.
#include <ridge/attention/sm90_decode.cuh>

namespace ridge::attention_detail {

Status launch_decode(const Call& call) {
  return call.problem.dtype == f16 ? launch_row<DecodeRows<half>>(call) : launch_row<DecodeRows<bfloat16>>(call);
}

}  // namespace ridge::attention_detail
