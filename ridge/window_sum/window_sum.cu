// Instantiates the table of variants.hpp and launches the row that a plan chose. Functions are static: this file is
// compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#include <ridge/core/table.hpp>
#include <ridge/window_sum/launch.hpp>
#include <ridge/window_sum/wide.cuh>

namespace ridge::window_sum_detail {

// Policy of row I of the table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

template <int I, class T>
static Status launch_row(const WindowSumPlan& plan, const T* x, T* y, [[maybe_unused]] void* workspace, Stream stream) {
  constexpr Config c = variants[I].config;
  const WindowSumProblem& p = plan.problem;
  const simt::Config at{.grid = dim3(static_cast<unsigned>(plan.grid)),
                        .block = dim3(c.threads),
                        .smem = static_cast<std::size_t>(shared_words(c, reach(p))) * 4,
                        .stream = stream.handle,
                        .warp = plan.device.warp};
  if constexpr (c.method == Method::naive || c.method == Method::shared) {
    const RowsShape s{.n = p.n,
                      .reach = reach(p),
                      .tiles = tiles_of_row(c, p),
                      .rows_x = RowOffsets::of(p.x->outer),
                      .rows_y = RowOffsets::of(p.y->outer),
                      .step_x = p.x->step,
                      .step_y = p.y->step};
    if constexpr (c.method == Method::naive) return simt::launch(at, window_naive<Policy<I>, T>, x, y, s);
    else return simt::launch(at, window_shared<Policy<I>, T>, x, y, s);
  } else {
    const PiecesShape s{.n = p.n,
                        .tiles = tiles_of_row(c, p),
                        .pitch_x = p.x->pitch(),
                        .pitch_y = p.y->pitch(),
                        .reach = static_cast<int>(reach(p)),
                        .aligned_x = rows_on_vectors(*p.x, p.dtype),
                        .aligned_y = rows_on_vectors(*p.y, p.dtype)};
    if constexpr (c.method == Method::wide) {
      const std::int64_t spans = spans_of_row(p);
      Sum<T>* sums = static_cast<Sum<T>*>(workspace);
      simt::Config first = at;
      first.grid = dim3(static_cast<unsigned>(ceil_div(p.rows * spans, c.threads / group)));
      first.smem = 0;
      RIDGE_TRY(simt::launch(first, window_spans<Policy<I>, T>, x, sums, s, p.rows, spans));
      return simt::launch(at, window_wide<Policy<I>, T>, x, y, static_cast<const Sum<T>*>(sums), s, spans);
    } else if constexpr (c.method == Method::neighbours) {
      return simt::launch(at, window_neighbours<Policy<I>, T>, x, y, s);
    } else {
      return simt::launch(at, window_pieces<Policy<I>, T>, x, y, s);
    }
  }
}

template <>
Status launch<simt::Backend>(const WindowSumPlan& plan, const void* x, void* y, void* workspace, Stream stream) {
  return Types::visit(plan.problem.dtype, Status{}, [&]<class T>() {
    return visit_row<variant_count>(plan.variant, [&]<int I>() {
      return launch_row<I, T>(plan, static_cast<const T*>(x), static_cast<T*>(y), workspace, stream);
    });
  });
}

}  // namespace ridge::window_sum_detail
