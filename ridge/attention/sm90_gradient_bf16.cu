// bf16: gradients on Hopper's tensor cores.
#include <ridge/attention/sm90_gradient_launch.cuh>

namespace ridge::attention_detail {

Status launch_wgmma_gradient_bf16(const Call& call) { return launch_wgmma_gradient<bfloat16>(call); }

}  // namespace ridge::attention_detail
