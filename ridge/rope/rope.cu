// Instantiates the table of variants.hpp and launches the row that a plan chose. Functions are static: this file is
// compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#include <ridge/core/table.hpp>
#include <ridge/rope/launch.hpp>
#include <ridge/rope/rope.cuh>

#include <algorithm>

namespace ridge::rope_detail {

// Policy of row I of the table, a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

template <int I, class T> static Status launch_row(const RopePlan& plan, const RopeTensors& t, Stream stream) {
  constexpr Config c = variants[I].config;
  const RopeProblem& p = plan.problem;
  const T* x = static_cast<const T*>(t.x.data);
  T* y = static_cast<T*>(t.y.data);
  const bool halves = p.options.style == RopeStyle::neox;
  const simt::Config at{.grid = dim3(static_cast<unsigned>(plan.grid)),
                        .block = dim3(c.threads),
                        .stream = stream.handle,
                        .warp = plan.device.warp};
  const Angles angles = angles_of(p.options, rotary_dim(p), {t.positions, t.cos, t.sin});
  if constexpr (c.method == Method::pairs) {
    PairsShape s{.heads = p.x.shape[2],
                 .tokens = p.x.shape[0] * p.x.shape[1],
                 .sequence = p.x.shape[1],
                 .pairs = rotary_dim(p) / 2,
                 .pieces = pieces(c, p),
                 .halves = halves};
    std::copy_n(p.x.stride.begin(), 4, s.x);
    std::copy_n(p.y.stride.begin(), 4, s.y);
    return tile::launch_dependent(plan.device.cc, at, rope_pairs<Policy<I>, T>, x, y, s, angles);
  } else {
    VectorsShape s{.items = static_cast<unsigned>(items_of(c, p)),
                   .pieces = Divider(pieces(c, p)),
                   .head_groups = Divider(ceil_div(p.x.shape[2], c.heads)),
                   .sequence = Divider(p.x.shape[1]),
                   .heads = static_cast<int>(p.x.shape[2]),
                   .rotated = static_cast<int>(rotated_pieces(c, p)),
                   .pairs = static_cast<int>(rotary_dim(p) / 2)};
    std::copy_n(p.x.stride.begin(), 3, s.x);
    std::copy_n(p.y.stride.begin(), 3, s.y);
    constexpr auto of_halves = rope_vectors<Policy<I>, T, true>, of_pairs = rope_vectors<Policy<I>, T, false>;
    return tile::launch_dependent(plan.device.cc, at, halves ? of_halves : of_pairs, x, y, s, angles);
  }
}

template <> Status launch<simt::Backend>(const RopePlan& plan, const RopeTensors& t, Stream stream) {
  return Types::visit(plan.problem.dtype, Status{}, [&]<class T>() {
    return visit_row<variant_count>(plan.variant, [&]<int I>() { return launch_row<I, T>(plan, t, stream); });
  });
}

}  // namespace ridge::rope_detail
