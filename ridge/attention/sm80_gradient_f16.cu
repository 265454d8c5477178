// f16: gradients on tensor cores by mma.sync, from Ampere on.
#include <ridge/attention/sm80_gradient.cuh>

namespace ridge::attention_detail {

Status launch_mma_gradient_f16(const Call& call) { return launch_row<MmaGradientRows<half>>(call); }

}  // namespace ridge::attention_detail
