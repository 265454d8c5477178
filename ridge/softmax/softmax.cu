// Instantiates the table of variants.hpp, and launches the variant that a plan chose.
#include <ridge/core/table.hpp>
#include <ridge/softmax/columns.cuh>
#include <ridge/softmax/elements.cuh>
#include <ridge/softmax/resident.cuh>
#include <ridge/softmax/short.cuh>
#include <ridge/softmax/span.cuh>
#include <ridge/softmax/split.cuh>
#include <ridge/softmax/streaming.cuh>
#include <ridge/softmax/two_float.cuh>
#include <ridge/softmax/vector.cuh>

#include <type_traits>

namespace ridge::softmax_detail {

// For instantiations that the family's fits() refuses.
static Status no_kernel() { return Status::error(Code::unsupported, "softmax: this variant has no such kernel"); }

template <int I, class T, int Warp> static Status launch_row(const Forward<T>& call) {
  using P = Policy<I>;
  constexpr Config c = P::config;
  if constexpr (c.algorithm <= Algorithm::strided) return streaming::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::two_float) return two_float::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::span) return span::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::columns) return columns::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::elements) return elements_of_rows::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::vector) return vector::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::split) return split::launch<P, T, Warp>(call);
  else if constexpr (std::is_same_v<T, double>) return no_kernel();
  else if constexpr (c.algorithm == Algorithm::short_rows) return short_rows::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::resident && c.cluster == 1) return resident::launch<P, T, Warp>(call);
  else if constexpr (c.algorithm == Algorithm::resident && RIDGE_SIMT_ON_CUDA)
    return launch_clusters(call.plan, call.x, call.y, call.stream);
  else return no_kernel();
}

template <>
Status launch<simt::Backend>(const SoftmaxPlan& plan, const void* x, void* y, void* workspace, Stream stream) {
  return simt::with_warp(plan.device.warp, [&](auto warp) {
    return Types::visit(plan.problem.dtype, Status{}, [&]<class T>() {
      const Forward<T> call{plan, static_cast<const T*>(x), static_cast<T*>(y), workspace, stream};
      return visit_row<variant_count>(plan.variant,
                                      [&]<int I>() { return launch_row<I, T, decltype(warp)::value>(call); });
    });
  });
}

}  // namespace ridge::softmax_detail
