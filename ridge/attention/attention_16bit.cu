// f16 and bf16: the textbook rows.
#include <ridge/attention/launch.cuh>

namespace ridge::attention_detail {

template <> Status launch_16bit<simt::Backend>(const Call& call) {
  return call.problem.dtype == f16 ? launch_portable<half>(call) : launch_portable<bfloat16>(call);
}

}  // namespace ridge::attention_detail
