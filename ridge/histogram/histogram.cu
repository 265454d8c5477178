// Instantiates the table of variants.hpp and launches the row that a plan chose.
#include <ridge/core/table.hpp>
#include <ridge/histogram/global.cuh>
#include <ridge/histogram/launch.hpp>
#include <ridge/histogram/shared.cuh>
#include <ridge/histogram/strided.cuh>

namespace ridge::histogram_detail {

// Policy of row I of the table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

struct Arguments {
  const HistogramPlan& plan;
  const void* x;
  Counts counts;
  Stream stream;

  simt::Config at(std::int64_t grid, int threads, std::size_t smem = 0) const {
    return {.grid = dim3(static_cast<unsigned>(grid)),
            .block = dim3(static_cast<unsigned>(threads)),
            .smem = smem,
            .stream = stream.handle,
            .warp = plan.device.warp};
  }
};

template <class T> static Keys<T> keys_of(const HistogramProblem& p) {
  const auto bins = Bins<Value<T>>::of(p.bins(), p.range.lo, p.range.hi);
  if constexpr (sizeof(T) == 1) return {bins, p.dtype == DType::i8};
  else return {bins};
}

// Number of samples before the first aligned access.
template <class T> static int head_of(const T* x, std::int64_t n, Config c) {
  if (access_elements(c, sizeof(T)) == 1) return 0;
  const auto bytes =
      static_cast<std::int64_t>(-reinterpret_cast<std::uintptr_t>(x) % static_cast<unsigned>(c.access_bytes));
  return static_cast<int>(std::min<std::int64_t>(bytes / static_cast<std::int64_t>(sizeof(T)), n));
}

template <int I, class T> static Status launch_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  if constexpr (takes(c, sizeof(T))) {
    const HistogramProblem& p = args.plan.problem;
    const std::int64_t n = p.x.count();
    const T* x = static_cast<const T*>(args.x);
    const Keys<T> keys = keys_of<T>(p);
    const simt::Config at =
        args.at(args.plan.grid, c.threads, static_cast<std::size_t>(smem_bytes(c, rows(p.bins(), sizeof(T)))));
    if constexpr (c.strided) {
      StridedShape shape{};
      shape.rank = p.x.rank;
      for (int axis = 0; axis < p.x.rank; ++axis)
        shape.shape[axis] = p.x.shape[axis], shape.stride[axis] = p.x.stride[axis];
      return simt::launch(at, histogram_strided<Policy<I>, T>, x, n, shape, keys, args.counts);
    } else if constexpr (c.table == Table::none) {
      return simt::launch(at, histogram_global<Policy<I>, T>, x, n, keys, args.counts);
    } else {
      return simt::launch(at, histogram_shared<Policy<I>, T>, x, n, head_of(x, n, c), keys, args.counts);
    }
  } else {
    return Status::error(Code::unsupported, "histogram: this variant does not take this type");  // refused by fits()
  }
}

template <> Status launch<simt::Backend>(const HistogramPlan& plan, const void* x, void* counts, Stream stream) {
  const HistogramProblem& p = plan.problem;
  const Arguments args{plan, x, {counts, p.counts.stride[0], p.counts_dtype == DType::i64}, stream};
  // A block that works alone clears the counts itself, if it has a table, and so a barrier.
  if (plan.grid != 1 || variants[plan.variant].config.table == Table::none) {
    const int bins = static_cast<int>(p.bins());
    RIDGE_TRY(simt::launch(args.at((bins + 255) / 256, 256), histogram_clear, args.counts, bins));
  }
  if (plan.grid == 0) return {};
  const DType samples = p.dtype == DType::i8 ? DType::u8 : p.dtype;
  return SampleTypes::visit(samples, Status{}, [&]<class T>() {
    return visit_row<variant_count>(plan.variant, [&]<int I>() { return launch_row<I, T>(args); });
  });
}

}  // namespace ridge::histogram_detail
