// The same rows of the table for gradients. Functions are static: this file is compiled twice, for the CPU runtime and
// for CUDA, and both objects are in one library.
#include <ridge/softmax/gradient.cuh>
#include <ridge/softmax/launch.hpp>
#include <ridge/softmax/span.cuh>
#include <ridge/softmax/split.cuh>

#include <utility>

namespace ridge::softmax_detail {

// A row of the table as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Row { static constexpr Config config = variants[I].config; };

struct GradientArguments {
  const SoftmaxPlan& plan;
  const void *y, *dy;
  void *dx, *workspace;
  Stream stream;
};

template <int I, class T, int Warp> static Status launch_gradient_row(const GradientArguments& args) {
  constexpr Config c = variants[I].config;
  const SoftmaxProblem& p = args.plan.problem;
  const simt::Config at{.grid = dim3(static_cast<unsigned>(args.plan.grid)),
                        .block = dim3(c.threads),
                        .smem = static_cast<std::size_t>(gradient_smem_bytes(c)),
                        .stream = args.stream.handle,
                        .warp = Warp};
  const T *y = static_cast<const T*>(args.y), *dy = static_cast<const T*>(args.dy);
  T* dx = static_cast<T*>(args.dx);
  if constexpr (c.method == Method::naive || c.method == Method::three || c.method == Method::strided) {
    using Team = tile::BlockRows<c.threads, static_cast<int>(rows_per_block(c)), Warp>;
    return simt::launch(at, softmax_gradient_streaming<Team, T>,
                        GradientRows<const T>{y, RowOffsets::of(p.x->outer), p.x->step},
                        GradientRows<const T>{dy, RowOffsets::of(p.dy->outer), p.dy->step},
                        GradientRows<T>{dx, RowOffsets::of(p.y->outer), p.y->step}, p.rows, p.cols, p.log);
  } else if constexpr (c.method == Method::resident && c.cluster == 1 && !c.overlaps && !std::is_same_v<T, double>) {
    using Team = tile::BlockRows<c.threads, c.rows, Warp>;
    return simt::launch(at, softmax_gradient_resident<Row<I>, Team, T>, y, dy, dx, p.rows, p.cols, p.x->pitch(),
                        p.dy->pitch(), p.y->pitch(), p.log);
  } else if constexpr (c.method == Method::span) {
    const DeviceInfo& device = args.plan.device;
    simt::Config with_span = at;
    with_span.smem = static_cast<std::size_t>(span_smem_bytes(c, p, device));
    return simt::launch(with_span, softmax_gradient_span<Row<I>, T>, y, dy, dx, p.rows, static_cast<int>(p.cols),
                        span_rows(c, p, device), p.log);
  } else if constexpr (c.method == Method::split && !std::is_same_v<T, double>) {
    auto* partials = static_cast<float*>(args.workspace);
    const Slices slices = slices_of(c, p, args.plan.device);
    RIDGE_TRY(simt::launch(at, softmax_split_gradient_sums<Row<I>, T, Warp>, y, dy, partials, p.cols, p.x->pitch(),
                           p.dy->pitch(), slices, p.log));
    const auto write = [&](auto launch_by) {
      return launch_by(y, dy, dx, static_cast<const float*>(partials), p.cols, p.x->pitch(), p.dy->pitch(),
                       p.y->pitch(), slices, p.log);
    };
    if (args.plan.device.cc == 90)  // its start is hidden behind the end of the kernel before it
      return write(
          [&](auto... a) { return tile::launch_overlapping(at, softmax_split_gradient_write<Row<I>, T, Warp>, a...); });
    return write([&](auto... a) { return simt::launch(at, softmax_split_gradient_write<Row<I>, T, Warp>, a...); });
  } else if constexpr (c.method == Method::ring && RIDGE_SIMT_ON_CUDA) {
    return launch_ring(args.plan, args.y, args.dy, args.dx, args.stream);
  } else {
    return Status::error(Code::unsupported, "softmax: this variant has no gradient");  // refused by fits()
  }
}

template <class T, int Warp, int... I>
static Status launch_gradient_variant(const GradientArguments& args, std::integer_sequence<int, I...>) {
  Status status;
  ((args.plan.variant == I ? void(status = launch_gradient_row<I, T, Warp>(args)) : void()), ...);
  return status;
}

template <>
Status launch_gradient<simt::Backend>(const SoftmaxPlan& plan, const void* y, const void* dy, void* dx, void* workspace,
                                      Stream stream) {
  const GradientArguments args{plan, y, dy, dx, workspace, stream};
  return simt::with_warp(plan.device.warp, [&](auto warp) {
    return Types::visit(plan.problem.dtype, Status{}, [&]<class T>() {
      return launch_gradient_variant<T, decltype(warp)::value>(args, std::make_integer_sequence<int, variant_count>{});
    });
  });
}

}  // namespace ridge::softmax_detail
