// f16 on tensor cores by mma.sync, from Ampere on.
#include <ridge/attention/sm80_launch.cuh>

namespace ridge::attention_detail {

Status launch_mma_f16(const Call& call) {
  return launch_mma_table<half>(call, std::make_integer_sequence<int, variant_count>{});
}

}  // namespace ridge::attention_detail
