// i8: sums in int32, and D in int32 or by way of float32.
#include <ridge/gemm/launch.cuh>

namespace ridge::gemm_detail {

template <> Status launch_i8<simt::Backend>(const Arguments& args) {
  return args.problem.out == i32 ? launch_table<std::int8_t, std::int32_t>(args)
                                 : launch_table<std::int8_t, float>(args);
}

}  // namespace ridge::gemm_detail
