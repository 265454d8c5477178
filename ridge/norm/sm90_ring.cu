// Launches Method::ring.
#include <ridge/norm/launch_arguments.cuh>
#include <ridge/norm/sm90_ring.cuh>
#include <ridge/tile/sm90/launch.cuh>

#include <utility>

namespace ridge::norm_detail {
namespace {

// What of a row of the table its kernel depends on: rows that differ in their cluster share one.
template <int Threads, int InRegisters, int Team> struct RingKernel {
  static constexpr Config config = {
      .method = Method::ring, .threads = Threads, .in_registers = InRegisters, .team = Team};
};

template <int I, class T> Status launch_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  if constexpr (!is_ring(c)) {
    return Status::error(Code::unsupported, "norm: this variant is launched elsewhere");
  } else {
    const NormProblem& p = args.plan.problem;
    const std::int64_t pitch = p.rows > 1 ? (*p.rows_lie)[0].pitch() * static_cast<std::int64_t>(sizeof(T)) : 0;
    const tile::RowRing ring =
        ring_of(c, p, args.plan.device.smem_optin).of_clusters(args.plan.grid / c.cluster, pitch);
    const simt::Config at{.grid = dim3(static_cast<unsigned>(args.plan.grid)),
                          .block = dim3(c.threads),
                          .smem = static_cast<std::size_t>(ring.smem_bytes()),
                          .stream = args.stream.handle};
    using Kernel = RingKernel<c.threads, c.in_registers, c.team>;
    const Forward<T> a = forward_of<T>(args);
    const auto rows_of = [&](const auto& tensor, int lies) {
      return tile::sm90::ring_rows(tensor.data, (*p.rows_lie)[lies].pitch(), p.rows, p.cols);
    };
    const RingInputs<1> x{{rows_of(a.x, 0)}};
    if (!p.added) return tile::sm90::launch_clusters(at, c.cluster, norm_ring<Kernel, T, false>, a, ring, x);
    if constexpr (c.plain) return Status::error(Code::unsupported, "norm: this variant has rows alone");
    else
      return tile::sm90::launch_clusters(at, c.cluster, norm_ring<Kernel, T, true>, a, ring,
                                         RingInputs<2>{{rows_of(a.x, 0), rows_of(a.residual, 2)}});
  }
}

template <class T, int... I> Status launch_variant(const Arguments& args, std::integer_sequence<int, I...>) {
  Status status;
  ((args.plan.variant == I ? void(status = launch_row<I, T>(args)) : void()), ...);
  return status;
}

}  // namespace

template <class T> Status launch_ring(const NormPlan& plan, const Operands& operands, Stream stream) {
  return launch_variant<T>({plan, operands, {}, stream}, std::make_integer_sequence<int, variant_count>{});
}
template Status launch_ring<float>(const NormPlan&, const Operands&, Stream);
template Status launch_ring<half>(const NormPlan&, const Operands&, Stream);
template Status launch_ring<bfloat16>(const NormPlan&, const Operands&, Stream);

}  // namespace ridge::norm_detail
