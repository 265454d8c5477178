// Launches the variants that a plan chose. Functions are static: the .cu files are compiled twice, for the CPU runtime
// and for CUDA, and both objects are in one library.
#pragma once
#include <ridge/batch_norm/apply.cuh>
#include <ridge/batch_norm/launch.hpp>
#include <ridge/batch_norm/stats.cuh>
#include <ridge/core/table.hpp>

#include <algorithm>

namespace ridge::batch_norm_detail {

// Variants' configurations as types: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct ApplyPolicy { static constexpr ApplyConfig config = apply_variants[I].config; };
template <int I> struct StatsPolicy { static constexpr StatsConfig config = stats_variants[I].config; };

inline Parameter parameter_of(const TensorView& view) { return {view.data, view.stride(0), view.dtype}; }

template <int I, class T> static Status launch_apply_row(const Arguments& args) {
  constexpr ApplyConfig c = apply_variants[I].config;
  const BatchNormProblem& p = args.plan.problem;
  const BatchNormTensors& t = args.tensors;
  const Parameters parameters{.mean = parameter_of(t.mean),
                              .var = parameter_of(t.var),
                              .gamma = p.gamma ? parameter_of(*t.gamma) : Parameter{},
                              .beta = p.beta ? parameter_of(*t.beta) : Parameter{},
                              .eps = p.eps};
  const T* x = static_cast<const T*>(t.x.data);
  T* y = static_cast<T*>(t.y.data);
  // The statistics go through x from its beginning, so the L2 cache has its end.
  [[maybe_unused]] const bool backwards = p.function == BatchNorm::train;
  const simt::Config at{.grid = dim3(static_cast<unsigned>(apply_grid(c, p))),
                        .block = dim3(c.threads),
                        .stream = args.stream.handle,
                        .warp = args.plan.device.warp};
  if constexpr (c.method == Apply::element) {
    ElementShape s{.channels_innermost = p.layout == BatchNormLayout::nhwc};
    std::copy_n(p.x.shape.begin(), 4, s.shape);
    std::copy_n(p.x.stride.begin(), 4, s.x);
    std::copy_n(p.y.stride.begin(), 4, s.y);
    return simt::launch(at, apply_element<ApplyPolicy<I>, T>, x, y, s, parameters);
  } else if constexpr (c.method == Apply::planes) {
    const std::int64_t plane = spatial(p.x) / (whole_planes(p) ? vector_elements(p.dtype) : 1);
    const PlanesShape s{.count = p.x.count(),
                        .items = static_cast<unsigned>(ceil_div(p.x.count(), vector_elements(p.dtype))),
                        .plane = static_cast<unsigned>(plane),
                        .channels = static_cast<int>(p.x.shape[1]),
                        .whole_planes = whole_planes(p),
                        .backwards = backwards,
                        .by_plane = Divider(plane),
                        .by_channels = Divider(p.x.shape[1])};
    if (spatial(p.x) < vector_elements(p.dtype))
      return simt::launch(at, apply_planes<ApplyPolicy<I>, T, true>, x, y, s, parameters);
    return simt::launch(at, apply_planes<ApplyPolicy<I>, T, false>, x, y, s, parameters);
  } else {
    const ChannelsShape s{.positions = per_channel(p.x),
                          .pitch_x = *position_pitch(p.x),
                          .pitch_y = *position_pitch(p.y),
                          .items = static_cast<unsigned>(apply_items(c, p)),
                          .vectors = Divider(p.x.shape[1] / vector_elements(p.dtype)),
                          .aligned_parameters = p.aligned_parameters,
                          .backwards = backwards};
    return simt::launch(at, apply_channels<ApplyPolicy<I>, T>, x, y, s, parameters);
  }
}

template <int I, class T, int Warp> static Status launch_stats_row(const Arguments& args) {
  constexpr StatsConfig c = stats_variants[I].config;
  const BatchNormProblem& p = args.plan.problem;
  const StatsGrid g = stats_grid(c, p, args.plan.device);
  const std::int64_t of_vector = c.vectorized ? vector_elements(p.dtype) : 1,
                     in_plane = c.method == Stats::planes ? of_vector : 1;
  StatsShape s{.channels = p.x.shape[1],
               .n = p.x.shape[0],
               .h = p.x.shape[2],
               .w = p.x.shape[3],
               .items = static_cast<unsigned>(g.items),
               .slices = static_cast<unsigned>(g.slices),
               .columns = g.columns};
  std::copy_n(p.x.stride.begin(), 4, s.stride);
  const T* x = static_cast<const T*>(args.tensors.x.data);
  Partial* partial = static_cast<Partial*>(args.workspace);
  const TensorView &mean = args.tensors.mean, &var = args.tensors.var;
  const Results results{static_cast<float*>(mean.data), static_cast<float*>(var.data), mean.stride(0), var.stride(0)};
  if (g.items > 0) {
    s.by_slices = Divider(g.slices);
    s.by_plane = Divider(spatial(p.x) / in_plane);
    s.by_row = Divider(p.x.shape[3]);
    if constexpr (c.method == Stats::channels && c.vectorized) s.stride[3] = *position_pitch(p.x);
    const simt::Config at{.grid = dim3(static_cast<unsigned>(g.blocks())),
                          .block = dim3(c.threads),
                          .smem = static_cast<std::size_t>(stats_smem_bytes(c, p.dtype)),
                          .stream = args.stream.handle,
                          .warp = Warp};
    if constexpr (c.method == Stats::serial) {
      RIDGE_TRY(simt::launch(at, stats_serial<StatsPolicy<I>, T>, x, results, s));
    } else if constexpr (c.method == Stats::planes) {
      RIDGE_TRY(simt::launch(at, stats_planes<StatsPolicy<I>, T, Warp>, x, partial, results, s));
    } else if constexpr (c.method == Stats::images) {
      s.by_columns = Divider(g.columns);
      RIDGE_TRY(simt::launch(at, stats_images<StatsPolicy<I>, T, Warp>, x, partial, results, s));
    } else {
      RIDGE_TRY(simt::launch(at, stats_channels<StatsPolicy<I>, T>, x, partial, results, s));
    }
  }
  if (g.slices == 1) return {};
  const simt::Config at{.grid = dim3(static_cast<unsigned>(p.x.shape[1])),
                        .block = dim3(finish_threads),
                        .stream = args.stream.handle,
                        .warp = Warp};
  return simt::launch(at, stats_finish<Warp>, static_cast<const Partial*>(partial), results, g.slices);
}

template <class T> static Status launch_tables(const Arguments& args) {
  const BatchNormProblem& p = args.plan.problem;
  if (p.function != BatchNorm::inference)
    RIDGE_TRY(simt::with_warp(args.plan.device.warp, [&](auto warp) {
      return visit_row<stats_variant_count>(
          args.plan.stats_variant, [&]<int I>() { return launch_stats_row<I, T, decltype(warp)::value>(args); });
    }));
  if (p.function == BatchNorm::stats || p.x.count() == 0) return {};
  return visit_row<apply_variant_count>(args.plan.apply_variant, [&]<int I>() { return launch_apply_row<I, T>(args); });
}

}  // namespace ridge::batch_norm_detail
