// Instantiates the tables of variants.hpp for a type, and launches the rows that a plan chose, through their families.
#pragma once
#include <ridge/batch_norm/apply_channels.cuh>
#include <ridge/batch_norm/apply_element.cuh>
#include <ridge/batch_norm/apply_planes.cuh>
#include <ridge/batch_norm/launch.hpp>
#include <ridge/batch_norm/stats_channels.cuh>
#include <ridge/batch_norm/stats_images.cuh>
#include <ridge/batch_norm/stats_planes.cuh>
#include <ridge/batch_norm/stats_serial.cuh>
#include <ridge/core/table.hpp>

namespace ridge::batch_norm_detail {

// Variants' configurations as types: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct ApplyPolicy { static constexpr ApplyConfig config = apply_variants[I].config; };
template <int I> struct StatsPolicy { static constexpr StatsConfig config = stats_variants[I].config; };

inline Parameter parameter_of(const TensorView& view) { return {view.data, view.stride(0), view.dtype}; }

template <class T> static ApplyCall<T> apply_call(const Arguments& args) {
  const BatchNormProblem& p = args.plan.problem;
  const BatchNormTensors& t = args.tensors;
  return {.plan = args.plan,
          .x = static_cast<const T*>(t.x.data),
          .residual = p.residual ? static_cast<const T*>(t.residual->data) : nullptr,
          .y = static_cast<T*>(t.y.data),
          .parameters = {.mean = parameter_of(t.mean),
                         .var = parameter_of(t.var),
                         .gamma = p.gamma ? parameter_of(*t.gamma) : Parameter{},
                         .beta = p.beta ? parameter_of(*t.beta) : Parameter{},
                         .eps = p.options.eps},
          .stream = args.stream};
}

template <class T> static StatsCall<T> stats_call(const Arguments& args) {
  const BatchNormPlan& plan = args.plan;
  const TensorView &mean = args.tensors.mean, &var = args.tensors.var;
  return {.plan = plan,
          .grid = stats_grid(stats_variants[plan.stats_variant].config, plan.problem, plan.device),
          .x = static_cast<const T*>(args.tensors.x.data),
          .partial = static_cast<Partial*>(args.workspace),
          .results = {static_cast<float*>(mean.data), static_cast<float*>(var.data), mean.stride(0), var.stride(0)},
          .stream = args.stream};
}

template <int I, class T> static Status launch_apply_row(const ApplyCall<T>& call) {
  using P = ApplyPolicy<I>;
  constexpr Apply algorithm = P::config.algorithm;
  if constexpr (algorithm == Apply::element) return apply::element::launch<P>(call);
  else if constexpr (algorithm == Apply::planes) return apply::planes::launch<P>(call);
  else return apply::channels::launch<P>(call);
}

template <int I, class T, int Warp> static Status launch_stats_row(const StatsCall<T>& call) {
  using P = StatsPolicy<I>;
  constexpr Stats algorithm = P::config.algorithm;
  if constexpr (algorithm == Stats::serial) return stats::serial::launch<P, T, Warp>(call);
  else if constexpr (algorithm == Stats::planes) return stats::planes::launch<P, T, Warp>(call);
  else if constexpr (algorithm == Stats::images) return stats::images::launch<P, T, Warp>(call);
  else return stats::channels::launch<P, T, Warp>(call);
}

template <class T, int Warp> static Status launch_stats(const StatsCall<T>& call) {
  if (call.grid.items > 0)
    RIDGE_TRY(visit_row<stats_variant_count>(call.plan.stats_variant,
                                             [&]<int I>() { return launch_stats_row<I, T, Warp>(call); }));
  return call.grid.slices == 1 ? Status{} : launch_finish<Warp>(call);
}

template <class T> static Status launch_tables(const Arguments& args) {
  const BatchNormProblem& p = args.plan.problem;
  if (p.function != BatchNorm::inference)
    RIDGE_TRY(simt::with_warp(args.plan.device.warp,
                              [&](auto warp) { return launch_stats<T, decltype(warp)::value>(stats_call<T>(args)); }));
  if (p.function == BatchNorm::stats || p.x.count() == 0) return {};
  const ApplyCall<T> call = apply_call<T>(args);
  return visit_row<apply_variant_count>(args.plan.apply_variant, [&]<int I>() { return launch_apply_row<I>(call); });
}

}  // namespace ridge::batch_norm_detail
