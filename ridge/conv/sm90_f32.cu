// float32 on Hopper: multiply-adds of what TMA gathers.
#include <ridge/conv/sm90_dispatch.cuh>

namespace ridge::conv_detail {

Status launch_fma(const Arguments& args) {
  return launch_fma_table(args, std::make_integer_sequence<int, variant_count>{});
}

}  // namespace ridge::conv_detail
