// Group normalisation of f32.
#include <ridge/group_norm/dispatch.cuh>

namespace ridge::group_norm_detail {

template <> Status launch<simt::Backend, float>(const GroupNormPlan& plan, const Operands& operands, Stream stream) {
  return launch_plan<float>(plan, operands, stream);
}

}  // namespace ridge::group_norm_detail
