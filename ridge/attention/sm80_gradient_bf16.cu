// bf16: gradients on tensor cores by mma.sync, from Ampere on.
#include <ridge/attention/sm80_gradient.cuh>

namespace ridge::attention_detail {

Status launch_mma_gradient_bf16(const Call& call) { return launch_row<MmaGradientRows<bfloat16>>(call); }

}  // namespace ridge::attention_detail
