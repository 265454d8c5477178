// f16 and bf16, one query of each sequence, on Hopper.
#include <ridge/attention/sm90_decode_one.cuh>

namespace ridge::attention_detail {

Status launch_decode_one(const Call& call) {
  return call.problem.dtype == f16 ? launch_row<DecodeOneRows<half>>(call) : launch_row<DecodeOneRows<bfloat16>>(call);
}

}  // namespace ridge::attention_detail
