#include <ridge/norm/norm.cuh>

namespace ridge::norm_detail {

template <> Status launch<simt::Backend, bfloat16>(const NormPlan& plan, const Operands& operands, Stream stream) {
  return launch_plan<bfloat16>(plan, operands, stream);
}

}  // namespace ridge::norm_detail
