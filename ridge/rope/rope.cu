// Instantiates the table of variants.hpp and launches the row that a plan chose. Functions are static: this file is
// compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#include <ridge/rope/launch.hpp>
#include <ridge/rope/rope.cuh>

#include <algorithm>
#include <utility>

namespace ridge::rope_detail {

// A row of the table as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Row { static constexpr Config config = variants[I].config; };

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
    return simt::launch(at, rope_pairs<Row<I>, T>, x, y, s, angles);
  } else {
    UnitsShape s{.items = static_cast<unsigned>(items_of(c, p)),
                 .pieces = Divider(pieces(c, p)),
                 .head_groups = Divider(ceil_div(p.x.shape[2], c.heads)),
                 .sequence = Divider(p.x.shape[1]),
                 .heads = static_cast<int>(p.x.shape[2]),
                 .turned = static_cast<int>(turned(c, p)),
                 .pairs = static_cast<int>(rotary_dim(p) / 2)};
    std::copy_n(p.x.stride.begin(), 3, s.x);
    std::copy_n(p.y.stride.begin(), 3, s.y);
    return halves ? simt::launch(at, rope_units<Row<I>, T, true>, x, y, s, angles)
                  : simt::launch(at, rope_units<Row<I>, T, false>, x, y, s, angles);
  }
}

template <class T, int... I>
static Status launch_variant(const RopePlan& plan, const RopeTensors& t, Stream stream,
                             std::integer_sequence<int, I...>) {
  Status status;
  ((plan.variant == I ? void(status = launch_row<I, T>(plan, t, stream)) : void()), ...);
  return status;
}

template <> Status launch<simt::Backend>(const RopePlan& plan, const RopeTensors& t, Stream stream) {
  return Types::visit(plan.problem.dtype, Status{}, [&]<class T>() {
    return launch_variant<T>(plan, t, stream, std::make_integer_sequence<int, variant_count>{});
  });
}

}  // namespace ridge::rope_detail
