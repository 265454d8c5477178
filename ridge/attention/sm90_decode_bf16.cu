// bf16, few queries against many keys, on Hopper.
#include <ridge/attention/sm90_decode_launch.cuh>

namespace ridge::attention_detail {

Status launch_decode_bf16(const Call& call) {
  return launch_decode_table<bfloat16>(call, std::make_integer_sequence<int, variant_count>{});
}

}  // namespace ridge::attention_detail
