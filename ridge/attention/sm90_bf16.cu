// bf16 on Hopper's tensor cores.
#include <ridge/attention/sm90_wgmma.cuh>

namespace ridge::attention_detail {

Status launch_wgmma_bf16(const Call& call) { return launch_row<WgmmaRows<bfloat16>>(call); }

}  // namespace ridge::attention_detail
