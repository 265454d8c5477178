// Instantiates the table of variants.hpp and launches the row that a plan chose. Functions are static: this file is
// compiled twice, for the CPU runtime and for CUDA, and both objects are in one library.
#include <ridge/rope/launch.hpp>
#include <ridge/rope/rope.cuh>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ridge::rope_detail {

// A row of the table as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Row { static constexpr Config config = variants[I].config; };

static Angles angles_of(const RopeProblem& p, const RopeTensors& t) {
  Angles a;
  if (p.positions) {
    const TensorView& v = *t.positions;
    a.positions = v.data;
    a.wide_positions = v.dtype == DType::i64;
    a.stride_b = v.rank() == 2 && v.size(0) > 1 ? v.stride(0) : 0;
    a.stride_s = v.stride(-1);
  }
  if (p.tables) {
    a.cos = t.cos->data;
    a.sin = t.sin->data;
    a.table_dtype = t.cos->dtype;
    a.rows = t.cos->size(0);
    std::copy_n(t.cos->layout.stride.begin(), 2, a.cos_stride);
    std::copy_n(t.sin->layout.stride.begin(), 2, a.sin_stride);
    return a;
  }
  const std::int64_t n = rotary_dim(p);
  const long double turn = 2 * std::acos(-1.0L);
  for (std::int64_t i = 0; i < n / 2; ++i) {
    const long double part = std::pow(static_cast<long double>(p.options.base), -2.0L * i / n) / turn;
    const long double nearest = (part - std::floor(part)) * 0x1p64L + 0.5L;
    a.turns[i] = nearest < 0x1p64L ? static_cast<std::uint64_t>(nearest) : 0;
  }
  return a;
}

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
  const Angles angles = angles_of(p, t);
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
