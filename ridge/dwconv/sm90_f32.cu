// f32 with whole rows in shared memory, by wgmma, on Hopper.
#include <ridge/core/table.hpp>
#include <ridge/dwconv/sm90_toeplitz.cuh>

namespace ridge::dwconv_detail {

template <int I> static Status launch_whole_row(const Arguments& args) {
  if constexpr (variants[I].config.algorithm != Algorithm::whole) {
    return Status::error(Code::unsupported, "dwconv: this variant is launched elsewhere");
  } else {
    return launch_sums<float>(
        args, [&](const Sum<float>& sum, auto summed) { return whole::launch<I, decltype(summed)::value>(args, sum); });
  }
}

Status launch_whole_f32(const Arguments& args) {
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() { return launch_whole_row<I>(args); });
}

}  // namespace ridge::dwconv_detail
