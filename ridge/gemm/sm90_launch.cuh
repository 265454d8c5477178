// Launches the row of Family::wgmma that a plan chose.
#pragma once
#include <ridge/gemm/launch_arguments.cuh>
#include <ridge/gemm/sm90_wgmma.cuh>

#include <utility>

namespace ridge::gemm_detail {
namespace {

// Whether ColumnEpilogue serves: D of the operands' type, as TMA stores it, and nothing added but a bias along N. Rows
// are whole accesses: of a 1x1 matrix of f16 TMA stores four bytes.
bool is_by_columns(const GemmProblem& p) {
  return *p.out == p.dtype && p.n * static_cast<std::int64_t>(size_of(p.dtype)) % access_bytes == 0 &&
         p.d->col_stride == 1 && starts_on(*p.d, p.d->row_stride, access_bytes) && (p.m == 1 || p.d->row_stride > 0) &&
         p.d->batch_stride >= 0 && !p.c && !p.residual_lies && p.bias != GemmBias::along_m;
}

ColumnEpilogue by_columns_of(const StandardEpilogue<float>& e) {
  const bool plain = e.alpha == 1 && e.scale == 1 && e.activation == Activation::none && !e.addends[e.bias].data;
  return {e.alpha, e.scale, e.activation, e.addends[e.bias], plain};
}

template <int I, class T> Status launch_wgmma_row(const Arguments& args) {
  const GemmProblem& p = args.problem;
  const auto operand = [](const TensorView& v, const GemmOperand& o, Major major, std::int64_t outer, std::int64_t k) {
    return WgmmaOperand{v.data, major == Major::k ? outer : k, o.batch_stride};
  };
  const Major ma = major_of_a(p), mb = major_of_b(p);
  const WgmmaOperand a = operand(args.tensors.a, *p.a, ma, p.a->row_stride, p.a->col_stride);
  const WgmmaOperand b = operand(args.tensors.b, *p.b, mb, p.b->col_stride, p.b->row_stride);
  const WgmmaOperand d =
      is_by_columns(p) ? WgmmaOperand{args.tensors.d.data, p.d->row_stride, p.d->batch_stride} : WgmmaOperand{};
  const StandardEpilogue<float> epilogue = epilogue_of<float>(args);
  const auto launch = [&]<Major MA, Major MB>() {
    return launch_wgmma<Row<I>, T, MA, MB>(a, b, d, {p.m, p.n, products(p), p.batch}, by_columns_of(epilogue), epilogue,
                                           args.plan.device.sms, args.stream);
  };
  constexpr Major k = Major::k, outer = Major::outer;
  if (ma == k && mb == outer) return launch.template operator()<k, outer>();  // nn
  if constexpr (!variants[I].nn_only) {
    if (ma == k) return launch.template operator()<k, k>();              // nt
    if (mb == outer) return launch.template operator()<outer, outer>();  // tn
    return launch.template operator()<outer, k>();                       // tt
  }
  return Status::error(Code::unsupported, "gemm: this variant takes layout nn");  // refused by fits()
}

template <class T, int I> constexpr auto wgmma_launcher() -> Status (*)(const Arguments&) {
  if constexpr (variants[I].config.family == Family::wgmma) return launch_wgmma_row<I, T>;
  else return nullptr;  // launched elsewhere
}

template <class T, int... I> Status launch_wgmma_variant(const Arguments& args, std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Arguments&) = {wgmma_launcher<T, I>()...};
  return launchers[args.plan.variant](args);
}

template <class T> Status launch_wgmma_table(const Arguments& args) {
  return launch_wgmma_variant<T>(args, std::make_integer_sequence<int, variant_count>{});
}

}  // namespace
}  // namespace ridge::gemm_detail
