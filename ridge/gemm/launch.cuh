// Launches the row of the table that a plan chose, for operands of type T. Everything here is internal to its unit: the
// same text is compiled by g++ and by nvcc, and the two must not be merged by the linker.
#pragma once
#include <ridge/gemm/launch.hpp>
#include <ridge/gemm/layout.hpp>
#include <ridge/gemm/textbook.cuh>
#include <ridge/gemm/thread_tile.cuh>
#include <ridge/gemm/variants.hpp>

#include <utility>

namespace ridge::gemm_detail {
namespace {

// A row of the table as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Row { static constexpr Config config = variants[I].config; };

// The tensor as epilogues see it.
Tensor tensor_of(const void* data, const GemmOperand& o) {
  const auto row = std::min<std::int64_t>(access_bytes, 4 * static_cast<std::int64_t>(size_of(o.dtype)));
  return {const_cast<void*>(data),
          o.dtype,
          o.col_stride == 1 && starts_on(o, o.row_stride, row),
          o.row_stride,
          o.col_stride,
          o.batch_stride};
}

template <class X> StandardEpilogue<X> epilogue_of(const Arguments& args) {
  const GemmProblem& p = args.problem;
  const GemmTensors& t = args.tensors;
  StandardEpilogue<X> e{};
  e.alpha = static_cast<X>(products(p) == 0 ? 0 : p.scalars.alpha);
  e.scale = static_cast<X>(p.scalars.scale);
  e.activation = p.scalars.activation;
  if (p.c) e.addends[e.c] = tensor_of(t.c->data, *p.c);
  if (p.bias_lies) e.addends[e.bias] = tensor_of(t.bias->data, *p.bias_lies);
  if (p.residual_lies) e.addends[e.residual] = tensor_of(t.residual->data, *p.residual_lies);
  e.factors[e.c] = static_cast<X>(p.scalars.beta);
  e.factors[e.bias] = e.factors[e.residual] = X(1);
  e.d = tensor_of(t.d.data, *p.d);
  return e;
}

template <class T, class Epilogue> struct Call {
  Shape shape;
  Operand<T> a, b;
  Epilogue epilogue;
  Major major_a, major_b;
  Stream stream;
  int warp;
};

template <int I, class T, class Epilogue> Status launch_row(const Call<T, Epilogue>& call) {
  constexpr Config c = variants[I].config;
  const simt::Config at = grid_of(c, dtype_of<T>, call.shape, call.stream, call.warp);
  const auto tiled = [&]<Major MA, Major MB>() {
    return launch_thread_tile<Row<I>, T, MA, MB>(call.a, call.b, call.shape, call.epilogue, call.stream, call.warp);
  };
  constexpr Major none = Major::none, k = Major::k, outer = Major::outer;
  if constexpr (c.family == Family::naive) {
    return simt::launch(at, gemm_naive<Row<I>, T, Epilogue>, call.a, call.b, call.shape, call.epilogue);
  } else if constexpr (c.family == Family::shared) {
    return simt::launch(at, gemm_shared<Row<I>, T, Epilogue>, call.a, call.b, call.shape, call.epilogue);
  } else if constexpr (c.loads == Loads::strided) {
    return tiled.template operator()<none, none>();
  } else {
    if (call.major_a == k && call.major_b == outer) return tiled.template operator()<k, outer>();  // nn
    if constexpr (!variants[I].nn_only) {
      if (call.major_a == k) return tiled.template operator()<k, k>();              // nt
      if (call.major_b == outer) return tiled.template operator()<outer, outer>();  // tn
      return tiled.template operator()<outer, k>();                                 // tt
    }
    return Status::error(Code::unsupported, "gemm: this variant takes layout nn");  // refused by fits()
  }
}

template <class T, class Epilogue, int I> constexpr auto launcher() -> Status (*)(const Call<T, Epilogue>&) {
  if constexpr (variants[I].types.contains(dtype_of<T>)) return launch_row<I, T, Epilogue>;
  else return nullptr;  // refused by fits()
}

template <class T, class Epilogue, int... I>
Status launch_variant(const Arguments& args, const Epilogue& epilogue, std::integer_sequence<int, I...>) {
  static constexpr Status (*launchers[])(const Call<T, Epilogue>&) = {launcher<T, Epilogue, I>()...};
  const GemmPlan& plan = args.plan;
  const GemmProblem& p = args.problem;
  const GemmOperand &a = *p.a, &b = *p.b;
  return launchers[plan.variant](
      {{p.m, p.n, products(p), p.batch},
       {static_cast<const T*>(args.tensors.a.data), a.row_stride, a.col_stride, a.batch_stride},
       {static_cast<const T*>(args.tensors.b.data), b.col_stride, b.row_stride, b.batch_stride},
       epilogue,
       major_of_a(p),
       major_of_b(p),
       args.stream,
       plan.device.warp});
}

// X: what the epilogue computes in.
template <class T, class X> Status launch_table(const Arguments& args) {
  return launch_variant<T>(args, epilogue_of<X>(args), std::make_integer_sequence<int, variant_count>{});
}

}  // namespace
}  // namespace ridge::gemm_detail
