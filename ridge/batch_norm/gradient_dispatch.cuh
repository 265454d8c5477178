// Instantiates the tables of gradients for a type, and launches the rows that a plan chose, through their families.
#pragma once
#include <ridge/batch_norm/gradient_channels.cuh>
#include <ridge/batch_norm/gradient_element.cuh>
#include <ridge/batch_norm/gradient_planes.cuh>
#include <ridge/batch_norm/launch.hpp>
#include <ridge/batch_norm/sums_channels.cuh>
#include <ridge/batch_norm/sums_images.cuh>
#include <ridge/batch_norm/sums_planes.cuh>
#include <ridge/batch_norm/sums_serial.cuh>
#include <ridge/core/table.hpp>

namespace ridge::batch_norm_detail {

// Variants' configurations as types: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct SumsPolicy { static constexpr StatsConfig config = sums_variants[I].config; };
template <int I> struct GradientPolicy { static constexpr ApplyConfig config = gradient_variants[I].config; };

static Parameter parameter_of(const TensorView& view) { return {view.data, view.stride(0), view.dtype}; }

// The workspace has the sums of the channels, and behind them those of their slices.
template <class T> static SumsCall<T> sums_call(const GradientArguments& args) {
  const BatchNormPlan& plan = args.plan;
  const BatchNormGradientTensors& t = args.tensors;
  auto* totals = static_cast<Sums*>(args.workspace);
  SumsOutputs outputs{.totals = totals,
                      .partial = totals + plan.problem.x.shape[1],
                      .dgamma = nullptr,
                      .dbeta = nullptr,
                      .stride_dgamma = 0,
                      .stride_dbeta = 0,
                      .mean = parameter_of(t.mean),
                      .var = parameter_of(t.var),
                      .eps = plan.problem.eps};
  if (t.dgamma) outputs.dgamma = static_cast<float*>(t.dgamma->data), outputs.stride_dgamma = t.dgamma->stride(0);
  if (t.dbeta) outputs.dbeta = static_cast<float*>(t.dbeta->data), outputs.stride_dbeta = t.dbeta->stride(0);
  return {.plan = plan,
          .grid = stats_grid(sums_variants[plan.stats_variant].config, plan.problem, plan.device),
          .x = static_cast<const T*>(t.x.data),
          .dy = static_cast<const T*>(t.dy.data),
          .outputs = outputs,
          .stream = args.stream};
}

template <class T> static GradientCall<T> gradient_call(const GradientArguments& args) {
  const BatchNormProblem& p = args.plan.problem;
  const BatchNormGradientTensors& t = args.tensors;
  return {.plan = args.plan,
          .x = static_cast<const T*>(t.x.data),
          .dy = static_cast<const T*>(t.dy.data),
          .dx = static_cast<T*>(t.dx.data),
          .parameters = {.mean = parameter_of(t.mean),
                         .var = parameter_of(t.var),
                         .gamma = t.gamma ? parameter_of(*t.gamma) : Parameter{},
                         .totals = static_cast<const Sums*>(args.workspace),
                         .eps = p.eps,
                         .count = static_cast<float>(per_channel(p.x))},
          .stream = args.stream};
}

template <int I, class T, int Warp> static Status launch_sums_row(const SumsCall<T>& call) {
  using P = SumsPolicy<I>;
  constexpr Stats algorithm = P::config.algorithm;
  if constexpr (algorithm == Stats::serial) return sums::serial::launch<P, T, Warp>(call);
  else if constexpr (algorithm == Stats::planes) return sums::planes::launch<P, T, Warp>(call);
  else if constexpr (algorithm == Stats::images) return sums::images::launch<P, T, Warp>(call);
  else return sums::channels::launch<P, T, Warp>(call);
}

template <class T, int Warp> static Status launch_sums(const SumsCall<T>& call) {
  if (call.grid.items > 0)
    RIDGE_TRY(visit_row<sums_variant_count>(call.plan.stats_variant,
                                            [&]<int I>() { return launch_sums_row<I, T, Warp>(call); }));
  return call.grid.slices == 1 ? Status{} : launch_finish<Warp>(call);
}

template <int I, class T> static Status launch_gradient_row(const GradientCall<T>& call) {
  using P = GradientPolicy<I>;
  constexpr Apply algorithm = P::config.algorithm;
  if constexpr (algorithm == Apply::element) return gradient::element::launch<P>(call);
  else if constexpr (algorithm == Apply::planes) return gradient::planes::launch<P>(call);
  else return gradient::channels::launch<P>(call);
}

template <class T> static Status launch_gradient_tables(const GradientArguments& args) {
  const BatchNormProblem& p = args.plan.problem;
  if (has_sums(p))
    RIDGE_TRY(simt::with_warp(args.plan.device.warp,
                              [&](auto warp) { return launch_sums<T, decltype(warp)::value>(sums_call<T>(args)); }));
  if (p.x.count() == 0) return {};
  const GradientCall<T> call = gradient_call<T>(args);
  return visit_row<gradient_variant_count>(args.plan.apply_variant,
                                           [&]<int I>() { return launch_gradient_row<I>(call); });
}

}  // namespace ridge::batch_norm_detail
