// Launches the row of the table that a plan chose, and the sums over columns behind it. Included by one .cu file per
// type; functions are static, because each is compiled twice, for the CPU runtime and for CUDA, into one library.
#pragma once
#include <ridge/norm/columns.cuh>
#include <ridge/norm/even.cuh>
#include <ridge/norm/fused.cuh>
#include <ridge/norm/launch_arguments.cuh>
#include <ridge/norm/resident.cuh>
#include <ridge/norm/short.cuh>
#include <ridge/norm/span.cuh>
#include <ridge/norm/split.cuh>

#include <utility>

namespace ridge::norm_detail {

// Both kernels of rows that are split; on Hopper the second one's start is hidden behind the end of the first.
template <class Team, class T> static Status launch_split(const Arguments& args, const simt::Config& at) {
  const NormPlan& plan = args.plan;
  const Slices slices = slices_of(variants[plan.variant].config, plan.problem, plan.device);
  std::byte* room = static_cast<std::byte*>(args.operands.workspace) + partials_at(args.sums);
  const auto both = [&]<class Partial>(auto first, auto second, const auto& tensors, Partial* partials) {
    static_assert(sizeof(Partial) <= partial_floats * sizeof(float));
    RIDGE_TRY(simt::launch(at, first, tensors, partials, slices));
    const auto* found = static_cast<const Partial*>(partials);
    if (plan.device.cc == 90) return tile::launch_overlapping(at, second, tensors, found, slices);
    return simt::launch(at, second, tensors, found, slices);
  };
  if (plan.problem.backward)
    return both(norm_split_gradient_moments<Team, T>, norm_split_gradient_write<Team, T>, backward_of<T>(args),
                reinterpret_cast<GradientPartial*>(room));
  return both(norm_split_moments<Team, T>, norm_split_write<Team, T>, forward_of<T>(args),
              reinterpret_cast<SlicePartial*>(room));
}

// The kernel over rows.
template <int I, class T, int Warp> static Status launch_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  using Team = tile::BlockRows<c.threads, c.rows, Warp>;
  const NormProblem& p = args.plan.problem;
  const Use use = use_of(p);
  const simt::Config at{.grid = dim3(static_cast<unsigned>(args.plan.grid)),
                        .block = dim3(c.threads),
                        .smem = static_cast<std::size_t>(smem_bytes(c, use)),
                        .stream = args.stream.handle,
                        .warp = Warp};
  if constexpr (c.method == Method::streaming) {
    if (!p.backward) return simt::launch(at, norm_streaming<Team, T, PlainSums>, forward_of<T>(args), PlainSums{});
    return simt::launch(at, norm_streaming_gradient<Team, T>, backward_of<T>(args));
  } else if constexpr (c.method == Method::span || c.method == Method::span_sums) {
    const SpanShape shape = span_shape(c, p, args.plan.device);
    simt::Config with_span = at;
    with_span.smem = static_cast<std::size_t>(shape.smem);
    if constexpr (c.method == Method::span)
      return simt::launch(with_span, norm_span<Row<I>, T>, forward_of<T>(args), shape.rows);
    else
      return simt::launch(with_span, norm_span_gradient<Row<I>, T>, backward_of<T>(args),
                          args.sums.slices > 0 ? static_cast<Compute<T>*>(args.operands.workspace) : nullptr,
                          shape.rows);
  } else if constexpr (std::is_same_v<T, double>) {
    return Status::error(Code::unsupported, "norm: this variant has no f64");  // refused by fits()
  } else if constexpr (is_ring(c)) {
    if constexpr (RIDGE_SIMT_ON_CUDA) return launch_ring<T>(args.plan, args.operands, args.stream);
    else return Status::error(Code::unsupported, "norm: this variant is Hopper's");  // refused by fits()
  } else if constexpr (c.method == Method::even) {
    const auto forward = [&](auto kernel) { return simt::launch(at, kernel, forward_of<T>(args)); };
    const bool scaled = p.norm == Norm::rms && !p.beta;
    if (use == Use::plain)
      return scaled ? forward(norm_even<Row<I>, Team, T, false, true>)
                    : forward(norm_even<Row<I>, Team, T, false, false>);
    return scaled ? forward(norm_even<Row<I>, Team, T, true, true>) : forward(norm_even<Row<I>, Team, T, true, false>);
  } else if constexpr (c.method == Method::short_rows) {
    if (use == Use::plain) return simt::launch(at, norm_short<Row<I>, Team, T, false>, forward_of<T>(args));
    return simt::launch(at, norm_short<Row<I>, Team, T, true>, forward_of<T>(args));
  } else if constexpr (c.method == Method::short_sums) {
    return simt::launch(at, norm_short_gradient<Row<I>, Team, T>, backward_of<T>(args),
                        static_cast<float*>(args.operands.workspace));
  } else if constexpr (c.method == Method::vector) {
    return simt::launch(at, norm_vector<Team, T>, forward_of<T>(args));
  } else if constexpr (c.method == Method::split) {
    return launch_split<Team, T>(args, at);
  } else if constexpr (c.method == Method::resident && c.cluster > 1) {
    if constexpr (RIDGE_SIMT_ON_CUDA) return launch_resident_clusters<T>(args.plan, args.operands, args.stream);
    else return Status::error(Code::unsupported, "norm: this variant is Hopper's");  // refused by fits()
  } else if constexpr (c.method == Method::resident) {
    const auto forward = [&](auto kernel) {
      if (c.overlaps && args.plan.device.cc == 90)
        return tile::launch_overlapping(at, kernel, forward_of<T>(args), DistanceSums{});
      return simt::launch(at, kernel, forward_of<T>(args), DistanceSums{});
    };
    if (use == Use::plain) return forward(norm_resident<Row<I>, Team, T, false, DistanceSums>);
    if (use == Use::added) return forward(norm_resident<Row<I>, Team, T, true, DistanceSums>);
    if constexpr (c.overlaps) return Status::error(Code::unsupported, "norm: this variant has no gradient");
    else return simt::launch(at, norm_resident_gradient<Row<I>, Team, T>, backward_of<T>(args));
  } else if constexpr (c.cluster > 1) {
    if constexpr (RIDGE_SIMT_ON_CUDA) return launch_fused_clusters<T>(args.plan, args.operands, args.stream);
    else return Status::error(Code::unsupported, "norm: this variant is Hopper's");  // refused by fits()
  } else {
    const FusedRows shape = fused_rows(c, p, args.plan.device.smem_optin, args.plan.grid);
    simt::Config with_rows = at;
    with_rows.smem = static_cast<std::size_t>(shape.smem);
    return simt::launch(with_rows, norm_fused_gradient<Row<I>, Warp, T>, backward_of<T>(args),
                        static_cast<float*>(args.operands.workspace), shape);
  }
}

template <class T, int Warp, int... I>
static Status launch_variant(const Arguments& args, std::integer_sequence<int, I...>) {
  Status status;
  ((args.plan.variant == I ? void(status = launch_row<I, T, Warp>(args)) : void()), ...);
  return status;
}

// dgamma and dbeta, from what the kernel over rows has left in the workspace.
template <class T, int Warp> static Status launch_sums(const Arguments& args) {
  using X = Compute<T>;
  const NormProblem& p = args.plan.problem;
  const Operands& o = args.operands;
  const SumsPlan& sums = args.sums;
  X* slices = reinterpret_cast<X*>(static_cast<std::byte*>(o.workspace) + sums.statistics_bytes);
  const auto blocks = [&](std::int64_t columns, int wide) {
    return static_cast<unsigned>((columns + wide - 1) / wide);
  };
  const VectorTensor<T> dgamma{static_cast<T*>(o.dgamma.data), o.dgamma.step},
      dbeta{static_cast<T*>(o.dbeta.data), o.dbeta.step};
  simt::Config at{.grid = dim3(static_cast<unsigned>(sums.slices) * blocks(p.cols, columns_wide)),
                  .block = dim3(columns_threads),
                  .stream = args.stream.handle,
                  .warp = Warp};
  if (sums.of_few) {
    at.grid = dim3(blocks(p.cols, columns_threads));
    return simt::launch(at, norm_columns_of_few<T>, backward_of<T>(args), dgamma, dbeta);
  }
  if (!sums.fused && sums.slices > 0)
    RIDGE_TRY(simt::launch(at, norm_columns<T>, backward_of<T>(args), slices, sums.rows_of_slice));
  at.grid = dim3(blocks(2 * p.cols, finish_wide));
  at.block = dim3(finish_threads);
  const auto finish = [&](auto launch_by) {
    return launch_by(static_cast<const X*>(slices), sums.slices, p.cols, dgamma, dbeta);
  };
  if (args.plan.device.cc == 90)  // its start is hidden behind the end of the kernel before it
    return finish([&](auto... a) { return tile::launch_overlapping(at, norm_finish<T>, a...); });
  return finish([&](auto... a) { return simt::launch(at, norm_finish<T>, a...); });
}

template <class T> static Status launch_plan(const NormPlan& plan, const Operands& operands, Stream stream) {
  const Arguments args{plan, operands, sums_plan(plan), stream};
  return simt::with_warp(plan.device.warp, [&](auto warp) -> Status {
    constexpr int width = decltype(warp)::value;
    if (plan.grid > 0) RIDGE_TRY((launch_variant<T, width>(args, std::make_integer_sequence<int, variant_count>{})));
    if (!plan.problem.dgamma && !plan.problem.dbeta) return Status{};
    return launch_sums<T, width>(args);
  });
}

}  // namespace ridge::norm_detail
