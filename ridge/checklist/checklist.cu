// Instantiates the tables of variants.hpp and launches the row that a plan chose. Functions are static: this file is
// compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#include <ridge/checklist/launch.hpp>
#include <ridge/checklist/lessons.cuh>
#include <ridge/core/table.hpp>

namespace ridge::checklist_detail {

// Policy of row I of a lesson's table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <Lesson L, int I> struct Policy { static constexpr Config config = table<L>()[I].config; };

struct Arguments {
  const ChecklistPlan& plan;
  const void *a, *b;
  void* y;
  Stream stream;
};

template <Lesson L, int I> static Status launch_row(const Arguments& args) {
  using R = Policy<L, I>;
  constexpr Config c = R::config;
  const ChecklistProblem& p = args.plan.problem;
  const std::int64_t n = p.n, per_block = block_elements(L, c);
  simt::Config at{.grid = dim3(static_cast<unsigned>((n + per_block - 1) / per_block)),
                  .block = dim3(c.threads),
                  .smem = static_cast<std::size_t>(smem_bytes(L, c, p.width)),
                  .stream = args.stream.handle,
                  .warp = args.plan.device.warp};
  const float* x = static_cast<const float*>(args.a);
  float* y = static_cast<float*>(args.y);
  if constexpr (L == Lesson::copy) {
    return simt::launch(at, checklist_copy<R>, x, y, n);
  } else if constexpr (L == Lesson::branch) {
    return simt::launch(at, checklist_branch<R>, static_cast<const int*>(args.a), static_cast<int*>(args.y), n);
  } else if constexpr (L == Lesson::vecadd) {
    return simt::launch(at, checklist_vecadd<R>, x, static_cast<const float*>(args.b), y, n);
  } else if constexpr (L == Lesson::histogram) {
    int* counts = static_cast<int*>(args.y);
    simt::Config clear = at;
    clear.grid = dim3(1), clear.block = dim3(bins), clear.smem = 0;
    RIDGE_TRY(simt::launch(clear, checklist_clear, counts));
    return simt::launch(at, checklist_histogram<R>, static_cast<const std::uint8_t*>(args.a), counts, n);
  } else if constexpr (L == Lesson::window) {
    return simt::launch(at, checklist_window<R>, x, y, n, static_cast<int>(p.width / 2));
  } else {
    return simt::launch(at, checklist_banks<R>, x, y, n);
  }
}

template <>
Status launch<simt::Backend>(const ChecklistPlan& plan, const void* a, const void* b, void* y, Stream stream) {
  const Arguments args{plan, a, b, y, stream};
  return with_lesson<Status>(plan.problem.lesson, [&]<Lesson L>() {
    constexpr int rows = static_cast<int>(std::size(table<L>()));
    return visit_row<rows>(plan.variant, [&]<int I>() { return launch_row<L, I>(args); });
  });
}

}  // namespace ridge::checklist_detail
