// Launches Method::resident in clusters.
#include <ridge/softmax/launch.hpp>
#include <ridge/softmax/resident.cuh>
#include <ridge/tile/sm90/launch.cuh>
#include <ridge/tile/sm90/row_cluster.cuh>

#include <utility>

namespace ridge::softmax_detail {
namespace {

// What of a row of the table its kernel depends on: rows that differ in their cluster share one.
template <int Threads, int InRegisters, int InShared, int BlocksPerSm> struct ClusterKernel {
  static constexpr Config config = {
      .threads = Threads, .in_registers = InRegisters, .in_shared = InShared, .blocks_per_sm = BlocksPerSm};
};

struct Arguments {
  const SoftmaxPlan& plan;
  const void* x;
  void* y;
  Stream stream;
};

template <int I, class T> Status launch_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  if constexpr (c.method != Method::resident || c.cluster == 1) {
    return Status::error(Code::unsupported, "softmax: this variant is launched elsewhere");
  } else {
    static_assert(c.cluster <= tile::sm90::RowCluster::most);
    const SoftmaxProblem& p = args.plan.problem;
    const simt::Config at{.grid = dim3(static_cast<unsigned>(args.plan.grid)),
                          .block = dim3(c.threads),
                          .smem = static_cast<std::size_t>(smem_bytes(c)),
                          .stream = args.stream.handle};
    using Kernel = ClusterKernel<c.threads, c.in_registers, c.in_shared, c.blocks_per_sm>;
    return tile::sm90::launch_clusters(at, c.cluster, softmax_resident<Kernel, T, 32, tile::sm90::RowCluster>,
                                       static_cast<const T*>(args.x), static_cast<T*>(args.y), p.rows, p.cols,
                                       p.x->pitch(), p.y->pitch(), rows_ahead(c, p, args.plan.device), p.log);
  }
}

template <class T, int... I> Status launch_variant(const Arguments& args, std::integer_sequence<int, I...>) {
  Status status;
  ((args.plan.variant == I ? void(status = launch_row<I, T>(args)) : void()), ...);
  return status;
}

}  // namespace

Status launch_clusters(const SoftmaxPlan& plan, const void* x, void* y, Stream stream) {
  using InClusters = TypeList<float, half, bfloat16>;
  return InClusters::visit(plan.problem.dtype, Status{}, [&]<class T>() {
    return launch_variant<T>({plan, x, y, stream}, std::make_integer_sequence<int, variant_count>{});
  });
}

}  // namespace ridge::softmax_detail
