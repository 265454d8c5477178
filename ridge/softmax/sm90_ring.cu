// Launches Algorithm::ring.
#include <ridge/core/table.hpp>
#include <ridge/softmax/launch.cuh>
#include <ridge/softmax/sm90_ring.cuh>
#include <ridge/tile/sm90/launch.cuh>

namespace ridge::softmax_detail {
namespace {

// The part of a variant that its kernel depends on: variants that differ only in their cluster share a kernel.
template <int Threads, int Team> struct RingPolicy {
  static constexpr Config config = {.algorithm = Algorithm::ring, .threads = Threads, .team = Team};
};

template <int I, class T> Status launch_row(const Backward<T>& call) {
  constexpr Config c = variants[I].config;
  if constexpr (c.algorithm != Algorithm::ring) {
    return Status::error(Code::unsupported, "softmax: this variant is launched elsewhere");
  } else {
    const SoftmaxProblem& p = call.plan.problem;
    const std::int64_t pitch = p.rows > 1 ? p.x->pitch() * static_cast<std::int64_t>(sizeof(T)) : 0;
    const tile::RowRing of_grid = ring::ring_of(c, p, call.plan.device).of_clusters(call.plan.grid / c.cluster, pitch);
    const auto rows = [&](const T* data, const Rows& layout) {
      return tile::sm90::ring_rows(data, layout.pitch(), p.rows, p.cols);
    };
    return tile::sm90::launch_clusters(
        launch_config(call, 32), c.cluster, softmax_ring_gradient<RingPolicy<c.threads, c.team>, T>, rows(call.y, *p.x),
        rows(call.dy, *p.dy), RingOutput<T>{call.dx, p.y->pitch()}, p.rows, p.cols, p.log, of_grid);
  }
}

}  // namespace

Status launch_ring(const SoftmaxPlan& plan, const void* y, const void* dy, void* dx, Stream stream) {
  using OnRing = TypeList<float, half, bfloat16>;
  return OnRing::visit(plan.problem.dtype, Status{}, [&]<class T>() {
    const Backward<T> call{plan,  static_cast<const T*>(y), static_cast<const T*>(dy), static_cast<T*>(dx), nullptr,
                           stream};
    return visit_row<variant_count>(plan.variant, [&]<int I>() { return launch_row<I, T>(call); });
  });
}

}  // namespace ridge::softmax_detail
