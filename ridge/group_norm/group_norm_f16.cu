// Group normalisation of f16.
#include <ridge/group_norm/dispatch.cuh>

namespace ridge::group_norm_detail {

template <> Status launch<simt::Backend, half>(const GroupNormPlan& plan, const Operands& operands, Stream stream) {
  return launch_plan<half>(plan, operands, stream);
}

}  // namespace ridge::group_norm_detail
