// Launches the row of Hopper's families that a plan chose.
#pragma once
#include <ridge/core/table.hpp>
#include <ridge/gemm/launch_arguments.cuh>
#include <ridge/gemm/slices.cuh>
#include <ridge/gemm/sm90_split.cuh>
#include <ridge/gemm/sm90_thread_tile.cuh>
#include <ridge/gemm/sm90_wgmma_launch.cuh>

namespace ridge::gemm_detail {
namespace {

// Whether D is just the sums.
template <class X> bool is_plain(const StandardEpilogue<X>& e) {
  return e.alpha == X(1) && e.scale == X(1) && e.activation == Activation::none && !e.addends[e.c].data &&
         !e.addends[e.bias].data && !e.addends[e.residual].data;
}
ColumnEpilogue by_columns_of(const StandardEpilogue<float>& e) {
  const Addend addend = e.addends[e.c].data          ? Addend::before_activation
                        : e.addends[e.residual].data ? Addend::after_activation
                                                     : Addend::none;
  return {.alpha = e.alpha,
          .scale = e.scale,
          .activation = e.activation,
          .bias = e.addends[e.bias],
          .gate_bias = e.gate_bias,
          .plain = is_plain(e),
          .addend = addend,
          .factor = e.factors[e.c]};
}

// The operands as the kernel reads them: in place, or first copied into the workspace. `repack` is as planned: tensors
// are copied even if they happen to be better aligned now.
struct ReadyOperands {
  WgmmaOperand a, b, gate;
  Repack repack;
};
Result<ReadyOperands> ready_operands(const Arguments& args, const Repack& repack) {
  if (repack.needed()) RIDGE_TRY(launch_repack(args, repack));
  const auto operand = [&](const TensorView& v, const Repacked& to) {
    const void* copied = static_cast<const unsigned char*>(args.workspace.data) + to.offset;
    return WgmmaOperand{to.needed ? copied : v.data, to.pitch, to.batch_stride};
  };
  ReadyOperands ready{operand(args.tensors.a, repack.a), operand(args.tensors.b, repack.b), {}, repack};
  if (args.tensors.gate) ready.gate = operand(*args.tensors.gate, repack.gate);
  return ready;
}

// X: the type in which the epilogue computes.
template <int I, class T, class X> Status launch_wgmma_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  const GemmProblem& p = args.problem;
  auto ready = ready_operands(args, wgmma::repack_of(c, args.plan.problem, args.plan.swap_ab));
  if (!ready) return ready.error();
  WgmmaOutput out;
  ColumnEpilogue by_columns;
  const StandardEpilogue<X> epilogue = epilogue_of<X>(args);
  if constexpr (has_tma_store<T>) {
    if (is_by_columns(c, p, dtype_of<ColumnOut<T>>)) out.store = Store::tma;
  }
  if constexpr (has_float_store<Policy<I>, T>) {
    if (is_by_columns(c, p, f32)) out.store = Store::tma_float;
  }
  if constexpr (has_direct_store<T>) {
    // Sums of integers are stored unchanged, or by the epilogue.
    if (is_by_columns(c, p, dtype_of<X>) && is_plain(epilogue) && !std::is_same_v<X, float>) out.store = Store::direct;
  }
  if (out.store != Store::epilogue) {
    if constexpr (std::is_same_v<X, float>) by_columns = by_columns_of(epilogue);
    const auto operand = [](const TensorView& v, const GemmOperand& o) {
      return WgmmaOperand{v.data, o.row_stride, o.batch_stride};
    };
    out.d = operand(args.tensors.d, *p.d);
    if (const GemmOperand* addend = tile_addend(p))
      out.addend = operand(p.c ? *args.tensors.c : *args.tensors.residual, *addend);
  }
  if constexpr (sizeof(T) == 2)
    if (out.store == Store::epilogue && is_stored_anywhere(c, p)) {
      by_columns = by_columns_of(epilogue);
      out.d = {args.tensors.d.data, p.d->row_stride, p.d->batch_stride};
    }
  if (c.stream_k) out.exchange = static_cast<unsigned char*>(args.workspace.data) + ready->repack.bytes();
  const WgmmaOperands operands{ready->a, ready->b, ready->gate, offsets_of(args), ready->repack.low};
  const auto launch = [&]<Major MA, Major MB>() {
    return launch_wgmma<Policy<I>, T, MA, MB>(operands, out, {p.m, p.n, products(p), p.batch}, by_columns, epilogue,
                                              args.plan.device.sms, args.stream);
  };
  constexpr Major k = Major::k, outer = Major::outer;
  const Major ma = ready->repack.a.major, mb = ready->repack.b.major;
  if constexpr (sizeof(T) != 2) {
    return launch.template operator()<k, k>();  // the others have been transposed
  } else {
    if constexpr (!has_odd_columns(c))
      if (ma == k && mb == outer) return launch.template operator()<k, outer>();  // nn
    if constexpr (!variants[I].nn_only)
      if (ma == k) return launch.template operator()<k, k>();  // nt
    if constexpr (!variants[I].nn_only && !wgmma_a_is_k_major(c)) {
      if (mb == outer) return launch.template operator()<outer, outer>();  // tn
      return launch.template operator()<outer, k>();                       // tt
    }
    return Status::error(Code::unsupported, "gemm: this variant takes other layouts");  // refused by fits()
  }
}

template <int I, class T, class X> Status launch_split_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  const GemmProblem& p = args.problem;
  auto ready = ready_operands(args, wgmma_split::repack_of(c, args.plan.problem, args.plan.swap_ab));
  if (!ready) return ready.error();
  const bool swap_ab = args.plan.swap_ab;
  const StandardEpilogue<X> epilogue = epilogue_of<X>(args);
  using Sum = tile::sm90::Sum<T>;
  PlainD plain{.sums = *p.out == dtype_of<Sum>, .vectors = has_tma_layout(p, *p.d, *p.out)};
  const bool plain_out = plain.sums || (*p.out == dtype_of<ColumnOut<T>> && (sizeof(T) == 2 || is_float8<T>));
  if (plain_out && !c.gated && p.d->col_stride == 1 && is_plain(epilogue))
    plain.d = {args.tensors.d.data, p.d->row_stride, p.d->batch_stride};
  const Repack& repack = ready->repack;
  const Copied copied = !repack.needed()                                                      ? Copied::none
                        : (swap_ab ? repack.b.needed || repack.gate.needed : repack.a.needed) ? Copied::both
                                                                                              : Copied::skinny;
  const int wide_rows = wgmma_split::wide_rows(c, p, args.plan.device.sms, args.plan.split, swap_ab);
  const Raster tiles = raster_of(swap_ab ? p.n : p.m, swap_ab ? p.m : p.n, wide_rows, c.bn);
  SplitHints hints;
  if (copied == Copied::none) hints = split_hints(c, tiles.tiles() * p.batch * args.plan.split, args.plan.device.sms);
  const auto launch = [&]<Major MW, Major MN>() {
    return launch_split<Policy<I>, T, MW, MN>(swap_ab ? ready->b : ready->a, swap_ab ? ready->a : ready->b, plain,
                                              {p.m, p.n, products(p), p.batch}, swap_ab, args.plan.split, wide_rows,
                                              copied, hints, epilogue, args.plan.device.sms, args.stream,
                                              swap_ab ? operand_a<T>(args) : operand_b<T>(args), ready->gate);
  };
  constexpr Major k = Major::k, outer = Major::outer;
  const Major wide = swap_ab ? ready->repack.b.major : ready->repack.a.major,
              skinny = swap_ab ? ready->repack.a.major : ready->repack.b.major;
  if constexpr (sizeof(T) != 2 || c.gated) {
    return launch.template operator()<k, k>();  // the others have been transposed
  } else if constexpr (skinny_is_k_major(c)) {
    if constexpr (split_gathers(c))
      if (skinny == Major::none)
        return wide == k ? launch.template operator()<k, Major::none>()
                         : launch.template operator()<outer, Major::none>();
    return wide == k ? launch.template operator()<k, k>() : launch.template operator()<outer, k>();
  } else {
    if (wide == k) return skinny == k ? launch.template operator()<k, k>() : launch.template operator()<k, outer>();
    return skinny == k ? launch.template operator()<outer, k>() : launch.template operator()<outer, outer>();
  }
}

template <int I> Status launch_tma_tile_row(const Arguments& args) {
  constexpr Config c = variants[I].config;
  auto ready = ready_operands(args, tma_tile::repack_of(c, args.plan.problem, args.plan.swap_ab));
  if (!ready) return ready.error();
  const auto launch_for = [&](const StandardEpilogue<float>& epilogue) {
    const auto launch = [&]<Major MD, bool SwapAB>() {
      return launch_tma_tile<Policy<I>, MD, SwapAB>(SwapAB ? ready->b : ready->a, SwapAB ? ready->a : ready->b,
                                                    shape_of(args), epilogue,
                                                    tma_tile::copies_across_alone(ready->repack, SwapAB), args.stream);
    };
    constexpr Major k = Major::k, outer = Major::outer;
    if (args.plan.swap_ab) {
      if constexpr (tma_tile::any_down_swapped(variants[I].config))
        if (ready->repack.b.major == outer) return launch.template operator()<outer, true>();
      return launch.template operator()<k, true>();
    }
    if (ready->repack.a.major == k) return launch.template operator()<k, false>();
    return launch.template operator()<outer, false>();
  };
  return launch_in_slices<float>(args, launch_for, ready->repack.bytes());
}

template <Family F, class T, class X = float> Status launch_hopper_table(const Arguments& args) {
  return visit_row<variant_count>(args.plan.variant, [&]<int I>() {
    if constexpr (variants[I].config.family != F || !variants[I].types.contains(dtype_of<T>)) return no_kernel();
    else if constexpr (F == Family::wgmma) return launch_wgmma_row<I, T, X>(args);
    else if constexpr (F == Family::tma_tile) return launch_tma_tile_row<I>(args);
    else return launch_split_row<I, T, X>(args);
  });
}

}  // namespace
}  // namespace ridge::gemm_detail
