// Group normalisation of bf16.
#include <ridge/group_norm/dispatch.cuh>

namespace ridge::group_norm_detail {

template <> Status launch<simt::Backend, bfloat16>(const GroupNormPlan& plan, const Operands& operands, Stream stream) {
  return launch_plan<bfloat16>(plan, operands, stream);
}

}  // namespace ridge::group_norm_detail
