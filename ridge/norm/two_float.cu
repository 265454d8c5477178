// The rows of the table that are there in two floats.
#include <ridge/norm/launch_arguments.cuh>
#include <ridge/norm/resident.cuh>
#include <ridge/norm/two_float.cuh>

#include <cmath>
#include <utility>

namespace ridge::norm_detail {

template <int I, int Warp, bool Rms> static Status launch_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  if constexpr (!c.two_float) {
    return Status::error(Code::unsupported, "norm: this variant has no sums in two floats");  // refused by fits()
  } else {
    using Team = tile::BlockRows<c.threads, c.rows, Warp>;
    const NormProblem& p = args.plan.problem;
    const simt::Config at{.grid = dim3(static_cast<unsigned>(args.plan.grid)),
                          .block = dim3(c.threads),
                          .smem = static_cast<std::size_t>(smem_bytes(c, use_of(p))),
                          .stream = args.stream.handle,
                          .warp = Warp};
    const Forward<float> a = forward_of<float>(args);
    const auto cols = static_cast<double>(p.cols);
    const InTwoFloats<Rms> sums{.eps = p.eps, .cols = cols, .per_column = 1 / cols, .root_of_cols = std::sqrt(cols)};
    if constexpr (c.method == Method::streaming) {
      return simt::launch(at, norm_streaming<Team, float, InTwoFloats<Rms>>, a, sums);
    } else {
      if (p.added) return simt::launch(at, norm_resident<Row<I>, Team, float, true, InTwoFloats<Rms>>, a, sums);
      return simt::launch(at, norm_resident<Row<I>, Team, float, false, InTwoFloats<Rms>>, a, sums);
    }
  }
}

template <int Warp, bool Rms, int... I>
static Status launch_variant(const Arguments& args, std::integer_sequence<int, I...>) {
  Status status;
  ((args.plan.variant == I ? void(status = launch_row<I, Warp, Rms>(args)) : void()), ...);
  return status;
}

template <> Status launch_two_float<simt::Backend>(const NormPlan& plan, const Operands& operands, Stream stream) {
  return simt::with_warp(plan.device.warp, [&](auto warp) -> Status {
    constexpr int width = decltype(warp)::value;
    constexpr std::make_integer_sequence<int, variant_count> all{};
    const Arguments args{plan, operands, {}, stream};
    return plan.problem.norm == Norm::rms ? launch_variant<width, true>(args, all)
                                          : launch_variant<width, false>(args, all);
  });
}

}  // namespace ridge::norm_detail
