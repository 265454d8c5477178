// Launches Method::ring.
#include <ridge/softmax/launch.hpp>
#include <ridge/softmax/sm90_ring.cuh>
#include <ridge/tile/sm90/launch.cuh>

#include <utility>

namespace ridge::softmax_detail {
namespace {

// What of a row of the table its kernel depends on: rows that differ in their cluster share one.
template <int Threads, int Team> struct RingKernel {
  static constexpr Config config = {.method = Method::ring, .threads = Threads, .team = Team};
};

struct Arguments {
  const SoftmaxPlan& plan;
  const void *y, *dy;
  void* dx;
  Stream stream;
};

template <int I, class T> Status launch_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  if constexpr (c.method != Method::ring) {
    return Status::error(Code::unsupported, "softmax: this variant is launched elsewhere");
  } else {
    using Kernel = RingKernel<c.threads, c.team>;
    const SoftmaxProblem& p = args.plan.problem;
    const std::int64_t pitch = p.rows > 1 ? p.x->pitch() * static_cast<std::int64_t>(sizeof(T)) : 0;
    const tile::RowRing ring =
        ring_of(c, p, args.plan.device.smem_optin).of_clusters(args.plan.grid / c.cluster, pitch);
    const simt::Config at{.grid = dim3(static_cast<unsigned>(args.plan.grid)),
                          .block = dim3(c.threads),
                          .smem = static_cast<std::size_t>(ring.smem_bytes()),
                          .stream = args.stream.handle};
    const auto rows = [&](const void* data, const Rows& lie) {
      return tile::sm90::ring_rows(static_cast<const T*>(data), lie.pitch(), p.rows, p.cols);
    };
    const RingOutput<T> out{static_cast<T*>(args.dx), p.y->pitch()};
    return tile::sm90::launch_clusters(at, c.cluster, softmax_ring_gradient<Kernel, T>, rows(args.y, *p.x),
                                       rows(args.dy, *p.dy), out, p.rows, p.cols, p.log, ring);
  }
}

template <class T, int... I> Status launch_variant(const Arguments& args, std::integer_sequence<int, I...>) {
  Status status;
  ((args.plan.variant == I ? void(status = launch_row<I, T>(args)) : void()), ...);
  return status;
}

}  // namespace

Status launch_ring(const SoftmaxPlan& plan, const void* y, const void* dy, void* dx, Stream stream) {
  using OnRing = TypeList<float, half, bfloat16>;
  return OnRing::visit(plan.problem.dtype, Status{}, [&]<class T>() {
    return launch_variant<T>({plan, y, dy, dx, stream}, std::make_integer_sequence<int, variant_count>{});
  });
}

}  // namespace ridge::softmax_detail
