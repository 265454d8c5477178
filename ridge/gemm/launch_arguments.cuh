// Conversion of launch arguments to kernel arguments. Internal to its translation unit, as launch.cuh is.
#pragma once
#include <ridge/gemm/epilogue.cuh>
#include <ridge/gemm/launch.hpp>
#include <ridge/gemm/layout.hpp>
#include <ridge/gemm/variants.hpp>

namespace ridge::gemm_detail {
namespace {

// A row of the table as a policy type: nvcc takes no namespaced class value as a kernel's template argument.
template <int I> struct Policy { static constexpr Config config = variants[I].config; };

// Refused by fits(), or launched elsewhere.
[[maybe_unused]] Status no_kernel() {
  return Status::error(Code::unsupported, "gemm: this variant is not compiled here");
}

// Operands for kernels, as [m, k] and [n, k].
template <class T> Operand<T> operand_a(const Arguments& args) {
  const GemmOperand& a = *args.problem.a;
  return {static_cast<const T*>(args.tensors.a.data), a.row_stride, a.col_stride, a.batch_stride};
}
template <class T> Operand<T> operand_b(const Arguments& args) {
  const GemmOperand& b = *args.problem.b;
  return {static_cast<const T*>(args.tensors.b.data), b.col_stride, b.row_stride, b.batch_stride};
}
template <class T> Operand<T> operand_gate(const Arguments& args) {
  if (!args.problem.gate_layout) return {};
  const GemmOperand& g = *args.problem.gate_layout;
  return {static_cast<const T*>(args.tensors.gate->data), g.col_stride, g.row_stride, g.batch_stride};
}

// The operands by which row I multiplies A.
template <int I, class T> OperandB<Policy<I>, T> operands_b(const Arguments& args) {
  if constexpr (Policy<I>::config.gated) return {operand_b<T>(args), operand_gate<T>(args)};
  else return operand_b<T>(args);
}

// The groups' offsets; null: there are none.
[[maybe_unused]] const std::int32_t* offsets_of(const Arguments& args) {
  return args.problem.grouped ? static_cast<const std::int32_t*>(args.tensors.offsets->data) : nullptr;
}

// A tensor for epilogues.
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
  if (p.bias_layout) e.addends[e.bias] = tensor_of(t.bias->data, *p.bias_layout);
  if (p.gate_bias_layout) e.gate_bias = tensor_of(t.gate_bias->data, *p.gate_bias_layout);
  if (p.residual_layout) e.addends[e.residual] = tensor_of(t.residual->data, *p.residual_layout);
  e.factors[e.c] = static_cast<X>(p.scalars.beta);
  e.factors[e.bias] = e.factors[e.residual] = X(1);
  e.d = tensor_of(t.d.data, *p.d);
  return e;
}

}  // namespace
}  // namespace ridge::gemm_detail
