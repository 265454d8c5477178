// bf16 on Hopper's tensor cores.
#include <ridge/attention/sm90_launch.cuh>

namespace ridge::attention_detail {

Status launch_wgmma_bf16(const Call& call) {
  return launch_wgmma_table<bfloat16>(call, std::make_integer_sequence<int, variant_count>{});
}

}  // namespace ridge::attention_detail
