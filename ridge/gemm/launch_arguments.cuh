// What every launch of a row of the table makes of its arguments. Internal to its unit, as launch.cuh is.
#pragma once
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/launch.hpp>
#include <ridge/gemm/layout.hpp>
#include <ridge/gemm/variants.hpp>

namespace ridge::gemm_detail {
namespace {

// A row of the table as a type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Row { static constexpr Config config = variants[I].config; };

// Operands as kernels that walk over them see them.
template <class T> Operand<T> operand_a(const Arguments& args) {
  const GemmOperand& a = *args.problem.a;
  return {static_cast<const T*>(args.tensors.a.data), a.row_stride, a.col_stride, a.batch_stride};
}
template <class T> Operand<T> operand_b(const Arguments& args) {
  const GemmOperand& b = *args.problem.b;
  return {static_cast<const T*>(args.tensors.b.data), b.col_stride, b.row_stride, b.batch_stride};
}
template <class T> Operand<T> operand_gate(const Arguments& args) {
  if (!args.problem.gate_lies) return {};
  const GemmOperand& g = *args.problem.gate_lies;
  return {static_cast<const T*>(args.tensors.gate->data), g.col_stride, g.row_stride, g.batch_stride};
}

// What row I multiplies A by.
template <int I, class T> OperandB<Row<I>, T> operands_b(const Arguments& args) {
  if constexpr (Row<I>::config.gated) return {operand_b<T>(args), operand_gate<T>(args)};
  else return operand_b<T>(args);
}

// Where groups begin; null: there are none.
const std::int32_t* offsets_of(const Arguments& args) {
  return args.problem.grouped ? static_cast<const std::int32_t*>(args.tensors.offsets->data) : nullptr;
}

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

}  // namespace
}  // namespace ridge::gemm_detail
