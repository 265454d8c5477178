// Instantiates the table of variants.hpp and launches the row that a plan chose. Functions are static: this file is
// compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#include <ridge/softmax/launch.hpp>
#include <ridge/softmax/resident.cuh>
#include <ridge/softmax/short.cuh>
#include <ridge/softmax/span.cuh>
#include <ridge/softmax/split.cuh>
#include <ridge/softmax/streaming.cuh>

#include <utility>

namespace ridge::softmax_detail {

// A row of the table as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Row { static constexpr Config config = variants[I].config; };

struct Arguments {
  const SoftmaxPlan& plan;
  const void* x;
  void *y, *workspace;
  Stream stream;
};

template <int I, class T, int Warp> static Status launch_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  const SoftmaxProblem& p = args.plan.problem;
  const simt::Config at{.grid = dim3(static_cast<unsigned>(args.plan.grid)),
                        .block = dim3(c.threads),
                        .smem = static_cast<std::size_t>(smem_bytes(c)),
                        .stream = args.stream.handle,
                        .warp = Warp};
  const T* x = static_cast<const T*>(args.x);
  T* y = static_cast<T*>(args.y);
  const std::int64_t pitch_x = p.x->pitch(), pitch_y = p.y->pitch();
  if constexpr (c.method == Method::naive) {
    return simt::launch(at, softmax_naive<Row<I>, T>, x, y, p.rows, p.cols, pitch_x, pitch_y, p.log);
  } else if constexpr (c.method == Method::three) {
    return simt::launch(at, softmax_three_pass<Row<I>, T, Warp>, x, y, p.rows, p.cols, pitch_x, pitch_y, p.log);
  } else if constexpr (c.method == Method::online || c.method == Method::strided) {
    return simt::launch(at, softmax_online<Row<I>, T, Warp>, x, y, p.cols, RowOffsets::of(p.x->outer),
                        RowOffsets::of(p.y->outer), p.x->step, p.y->step, p.log);
  } else if constexpr (c.method == Method::span) {
    const DeviceInfo& device = args.plan.device;
    simt::Config with_span = at;
    with_span.smem = static_cast<std::size_t>(span_smem_bytes(c, p, device));
    return simt::launch(with_span, softmax_span<Row<I>, T>, x, y, p.rows, static_cast<int>(p.cols),
                        span_rows(c, p, device), p.log);
  } else if constexpr (!has_type(c, dtype_of<T>)) {
    return Status::error(Code::unsupported, "softmax: this variant is of other types");  // refused by fits()
  } else if constexpr (c.method == Method::ring) {
    return Status::error(Code::unsupported, "softmax: this variant is for gradients");  // refused by fits()
  } else if constexpr (c.method == Method::short_rows) {
    return simt::launch(at, softmax_short<Row<I>, T, Warp>, x, y, p.rows, p.cols, pitch_x, pitch_y, p.log);
  } else if constexpr (c.method == Method::split) {
    auto* partials = static_cast<tile::OnlineSoftmax<float>*>(args.workspace);
    const Slices slices = slices_of(c, p, args.plan.device);
    RIDGE_TRY(simt::launch(at, softmax_split_sums<Row<I>, T, Warp>, x, partials, p.cols, pitch_x, slices));
    const auto write = [&](auto launch_by) {
      return launch_by(x, y, static_cast<const tile::OnlineSoftmax<float>*>(partials), p.cols, pitch_x, pitch_y, slices,
                       p.log);
    };
    if (args.plan.device.cc == 90)  // its start is hidden behind the end of the kernel before it
      return write([&](auto... a) { return tile::launch_overlapping(at, softmax_split_write<Row<I>, T, Warp>, a...); });
    return write([&](auto... a) { return simt::launch(at, softmax_split_write<Row<I>, T, Warp>, a...); });
  } else if constexpr (c.cluster > 1) {
    if constexpr (RIDGE_SIMT_ON_CUDA) return launch_clusters(args.plan, args.x, args.y, args.stream);
    else return Status::error(Code::unsupported, "softmax: this variant is Hopper's");  // refused by fits()
  } else if constexpr (c.method == Method::vector) {
    return simt::launch(at, softmax_vector<Row<I>, T, Warp>, x, y, p.cols, pitch_x, pitch_y, p.log);
  } else {
    const std::int64_t ahead = rows_ahead(c, p, args.plan.device);
    if (c.overlaps && args.plan.device.cc == 90)
      return tile::launch_overlapping(at, softmax_resident<Row<I>, T, Warp>, x, y, p.rows, p.cols, pitch_x, pitch_y,
                                      ahead, p.log);
    return simt::launch(at, softmax_resident<Row<I>, T, Warp>, x, y, p.rows, p.cols, pitch_x, pitch_y, ahead, p.log);
  }
}

template <class T, int Warp, int... I>
static Status launch_variant(const Arguments& args, std::integer_sequence<int, I...>) {
  Status status;
  ((args.plan.variant == I ? void(status = launch_row<I, T, Warp>(args)) : void()), ...);
  return status;
}

template <>
Status launch<simt::Backend>(const SoftmaxPlan& plan, const void* x, void* y, void* workspace, Stream stream) {
  const Arguments args{plan, x, y, workspace, stream};
  return simt::with_warp(plan.device.warp, [&](auto warp) {
    return Types::visit(plan.problem.dtype, Status{}, [&]<class T>() {
      return launch_variant<T, decltype(warp)::value>(args, std::make_integer_sequence<int, variant_count>{});
    });
  });
}

}  // namespace ridge::softmax_detail
