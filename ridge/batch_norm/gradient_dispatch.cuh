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

static Parameters parameters_of(const GradientArguments& args) {
  const BatchNormGradientTensors& t = args.tensors;
  const auto parameter = [](const TensorView& view) { return Parameter{view.data, view.stride(0), view.dtype}; };
  return {.mean = parameter(t.mean),
          .var = parameter(t.var),
          .gamma = t.gamma ? parameter(*t.gamma) : Parameter{},
          .beta = t.beta ? parameter(*t.beta) : Parameter{},
          .eps = args.plan.problem.options.eps};
}

// The workspace has what the channels' sums are folded into, and behind them the sums of their slices.
template <class T> static SumsCall<T> sums_call(const GradientArguments& args) {
  const BatchNormPlan& plan = args.plan;
  const BatchNormGradientTensors& t = args.tensors;
  auto* folded = static_cast<Folded*>(args.workspace);
  SumsOutputs outputs{.folded = folded,
                      .partial = reinterpret_cast<Sums*>(folded + plan.problem.x.shape[1]),
                      .dgamma = nullptr,
                      .dbeta = nullptr,
                      .stride_dgamma = 0,
                      .stride_dbeta = 0,
                      .parameters = parameters_of(args),
                      .count = static_cast<float>(per_channel(plan.problem.x))};
  if (t.dgamma) outputs.dgamma = static_cast<float*>(t.dgamma->data), outputs.stride_dgamma = t.dgamma->stride(0);
  if (t.dbeta) outputs.dbeta = static_cast<float*>(t.dbeta->data), outputs.stride_dbeta = t.dbeta->stride(0);
  return {.plan = plan,
          .grid = stats_grid(sums_variants[plan.stats_variant].config, plan.problem, plan.device),
          .tensors = {.x = static_cast<const T*>(t.x.data),
                      .dy = static_cast<const T*>(t.dy.data),
                      .residual = t.residual ? static_cast<const T*>(t.residual->data) : nullptr,
                      .dz = t.dresidual ? static_cast<T*>(t.dresidual->data) : nullptr},
          .outputs = outputs,
          .stream = args.stream};
}

template <class T> static GradientCall<T> gradient_call(const GradientArguments& args) {
  const BatchNormProblem& p = args.plan.problem;
  const BatchNormGradientTensors& t = args.tensors;
  return {.plan = args.plan,
          .x = static_cast<const T*>(t.x.data),
          .dz = static_cast<const T*>(p.dresidual ? t.dresidual->data : t.dy.data),
          .residual = recomputes_dz(p) && p.residual ? static_cast<const T*>(t.residual->data) : nullptr,
          .dx = static_cast<T*>(t.dx.data),
          .parameters = {.given = parameters_of(args),
                         .folded = static_cast<const Folded*>(args.workspace),
                         .activation = p.options.activation},
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
  if (has_sums(p) && (p.x.count() > 0 || p.dgamma || p.dbeta))
    RIDGE_TRY(simt::with_warp(args.plan.device.warp,
                              [&](auto warp) { return launch_sums<T, decltype(warp)::value>(sums_call<T>(args)); }));
  if (p.x.count() == 0) return {};
  const GradientCall<T> call = gradient_call<T>(args);
  return visit_row<gradient_variant_count>(args.plan.apply_variant,
                                           [&]<int I>() { return launch_gradient_row<I>(call); });
}

}  // namespace ridge::batch_norm_detail
