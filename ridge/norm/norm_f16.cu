#include <ridge/norm/norm.cuh>

namespace ridge::norm_detail {

template <> Status launch<simt::Backend, half>(const NormPlan& plan, const Operands& operands, Stream stream) {
  return launch_plan<half>(plan, operands, stream);
}

}  // namespace ridge::norm_detail
