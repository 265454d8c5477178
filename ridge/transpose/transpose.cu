// Instantiates the table of variants.hpp and launches the row that a plan chose. Functions are static: this file is
// compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#include <ridge/core/table.hpp>
#include <ridge/transpose/copy.cuh>
#include <ridge/transpose/narrow.cuh>
#include <ridge/transpose/runs.cuh>
#include <ridge/transpose/shifted.cuh>
#include <ridge/transpose/span.cuh>
#include <ridge/transpose/strided.cuh>
#include <ridge/transpose/textbook.cuh>
#include <ridge/transpose/thin.cuh>
#include <ridge/transpose/tile.cuh>

namespace ridge::transpose_detail {

// Policy of row I of the table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

template <int I, class T> static Status launch_row(const Call<T>& call) {
  using R = Policy<I>;
  constexpr Algorithm algorithm = R::config.algorithm;
  if constexpr (algorithm <= Algorithm::square) return textbook::launch<R>(call);
  else if constexpr (algorithm == Algorithm::tile) return tiled::launch<R>(call);
  else if constexpr (algorithm == Algorithm::shifted) return shifted::launch<R>(call);
  else if constexpr (algorithm == Algorithm::thin) return thin::launch<R>(call);
  else if constexpr (algorithm == Algorithm::narrow_in) return narrow_in::launch<R>(call);
  else if constexpr (algorithm == Algorithm::narrow_out) return narrow_out::launch<R>(call);
  else if constexpr (algorithm == Algorithm::span) return span::launch<R>(call);
  else if constexpr (algorithm == Algorithm::runs) return runs::launch<R>(call);
  else if constexpr (algorithm == Algorithm::copy) return copy::launch<R>(call);
  else return strided::launch<R>(call);
}

// Launch for units of this many bytes.
template <int Unit>
static Status launch_table(const TransposePlan& plan, const Form& form, const void* x, void* y, Stream stream) {
  using T = Bits<Unit>;
  const Call<T> call{plan, form, static_cast<const T*>(x), static_cast<T*>(y), stream};
  return visit_row<variant_count>(plan.variant, [&]<int I>() { return launch_row<I>(call); });
}

template <>
Status launch<simt::Backend>(const TransposePlan& plan, const Form& form, const void* x, void* y, Stream stream) {
  switch (form.unit) {
    case 1: return launch_table<1>(plan, form, x, y, stream);
    case 2: return launch_table<2>(plan, form, x, y, stream);
    case 4: return launch_table<4>(plan, form, x, y, stream);
    case 8: return launch_table<8>(plan, form, x, y, stream);
    default: return launch_table<16>(plan, form, x, y, stream);
  }
}

}  // namespace ridge::transpose_detail
