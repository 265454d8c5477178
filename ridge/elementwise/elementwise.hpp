// Elementwise operators: y = f(a) and y = f(a, b), element by element.
//
//   add mul relu sigmoid tanh gelu (erf) gelu_tanh silu exp copy
//
// Shapes    a, b and y have the same shape, of any rank up to 8. Strides are free: a bias along the last dimension is a
//           view b whose other strides are 0. Contiguous views that start on 16 bytes take the fast path; others are
//           correct but slower.
// Types     add mul relu: f64 f32 f16 bf16 i32. copy: any. The others: f64 f32 f16 bf16. All tensors have one type;
//           16-bit floats are computed in float32 and rounded once. i32 add and mul wrap.
// Values    relu(NaN) is NaN. sigmoid, silu and the gelus overflow for no finite x. exp overflows to infinity.
// Aliasing  y may be a or b itself (the same elements); any other overlap is refused.
// Empty     nothing is launched.
// Repeats   bitwise identical.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/tensor.hpp>

namespace ridge {

enum class Elementwise : std::uint8_t { add, mul, relu, sigmoid, tanh, gelu, gelu_tanh, silu, exp, copy };
RIDGE_API std::string_view name(Elementwise);
constexpr int arity(Elementwise f) { return f <= Elementwise::mul ? 2 : 1; }

struct ElementwiseProblem {
  Elementwise function = Elementwise::copy;
  DType dtype = DType::f32;
  Layout a, b, y;      // of the same shape; b is y's with one input
  int alignment = 16;  // common alignment of all tensors in bytes, at most 16
  bool operator==(const ElementwiseProblem&) const = default;

  // n contiguous, aligned elements.
  RIDGE_API static ElementwiseProblem flat(Elementwise, DType, std::int64_t n);
  // The problem of these views. Refuses shapes or dtypes that differ, and outputs that overlap inputs.
  RIDGE_API static Result<ElementwiseProblem> of(Elementwise, const TensorView& a, const TensorView* b,
                                                 const TensorView& y);
  RIDGE_API std::string text() const;  // for explain()
};

class ElementwisePlan {
 public:
  // b is ignored by functions of one argument. The views must be as planned.
  RIDGE_API Status run(const TensorView& a, const TensorView& b, const TensorView& y, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return 0; }

  ElementwiseProblem problem;  // layouts collapsed
  DeviceInfo device;
  int variant = 0;        // row of the table in variants.hpp
  std::int64_t grid = 0;  // blocks
};

RIDGE_API Result<ElementwisePlan> plan_elementwise(const ElementwiseProblem&, const DeviceInfo&,
                                                   const PlanOptions& = {});

// One line each: plan (cached per problem and device) and run. Throw ridge::Error.
RIDGE_API void elementwise(Elementwise, const TensorView& a, const TensorView& y, Stream = {});
RIDGE_API void elementwise(Elementwise, const TensorView& a, const TensorView& b, const TensorView& y, Stream = {});
inline void add(const TensorView& a, const TensorView& b, const TensorView& y, Stream s = {}) {
  elementwise(Elementwise::add, a, b, y, s);
}
inline void mul(const TensorView& a, const TensorView& b, const TensorView& y, Stream s = {}) {
  elementwise(Elementwise::mul, a, b, y, s);
}
inline void relu(const TensorView& x, const TensorView& y, Stream s = {}) { elementwise(Elementwise::relu, x, y, s); }
inline void sigmoid(const TensorView& x, const TensorView& y, Stream s = {}) {
  elementwise(Elementwise::sigmoid, x, y, s);
}
inline void tanh(const TensorView& x, const TensorView& y, Stream s = {}) { elementwise(Elementwise::tanh, x, y, s); }
inline void gelu(const TensorView& x, const TensorView& y, Stream s = {}) { elementwise(Elementwise::gelu, x, y, s); }
inline void gelu_tanh(const TensorView& x, const TensorView& y, Stream s = {}) {
  elementwise(Elementwise::gelu_tanh, x, y, s);
}
inline void silu(const TensorView& x, const TensorView& y, Stream s = {}) { elementwise(Elementwise::silu, x, y, s); }
inline void exp(const TensorView& x, const TensorView& y, Stream s = {}) { elementwise(Elementwise::exp, x, y, s); }
inline void copy(const TensorView& x, const TensorView& y, Stream s = {}) { elementwise(Elementwise::copy, x, y, s); }

}  // namespace ridge
