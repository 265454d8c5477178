// bf16 on tensor cores by mma.sync, from Ampere on.
#include <ridge/attention/sm80_launch.cuh>

namespace ridge::attention_detail {

Status launch_mma_bf16(const Call& call) {
  return launch_mma_table<bfloat16>(call, std::make_integer_sequence<int, variant_count>{});
}

}  // namespace ridge::attention_detail
