// f16 on tensor cores by mma.sync, from Ampere on.
#include <ridge/attention/sm80_mma.cuh>

namespace ridge::attention_detail {

Status launch_mma_f16(const Call& call) { return launch_row<MmaRows<half>>(call); }

}  // namespace ridge::attention_detail
