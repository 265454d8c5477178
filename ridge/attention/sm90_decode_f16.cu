// f16, few queries against many keys, on Hopper.
#include <ridge/attention/sm90_decode_launch.cuh>

namespace ridge::attention_detail {

Status launch_decode_f16(const Call& call) {
  return launch_decode_table<half>(call, std::make_integer_sequence<int, variant_count>{});
}

}  // namespace ridge::attention_detail
