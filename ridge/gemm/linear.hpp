// linear: y = act(x w^T + bias) + residual, a layer's product over the last axis of x, with any leading axes.
//
// Shapes    x [..., in], w [out, in], y and residual [..., out], bias [out]. x may have 1 to 8 axes; all but the last
//           are rows. Any strides are accepted with which the leading axes of x, y and residual merge in common to the
//           rows of one matrix or a batch of matrices; other strides are refused with that reason.
// Types     as in gemm, with x and w for A and B, y for D; bias and residual have any type that y may have. Sums in
//           float32 (float64 for f64, int32 for i8).
// Values    in == 0: neither x nor w is read, and y is act(bias) + residual.
// Aliasing  y may be residual itself (the same elements); any other overlap is refused.
// Empty     out or a leading axis of size 0: nothing is launched.
// Repeats   bit for bit.
// It is gemm with w transposed: its variants, plan and workspace are gemm's.
#pragma once
#include <ridge/gemm/gemm.hpp>

namespace ridge {

// The views of one run.
struct LinearTensors {
  TensorView x, w, y;
  std::optional<TensorView> bias = {}, residual = {};

  // The same views as gemm's matrices; refuses shapes that do not fit together.
  RIDGE_API Result<GemmTensors> matrices() const;
};

struct LinearOptions {
  Activation activation = Activation::none;
  GemmMath math = GemmMath::exact;
  Accumulate accumulate = Accumulate::plain;
};

class LinearPlan {
 public:
  // The views must be as planned. workspace_bytes() of workspace are used.
  RIDGE_API Status run(const LinearTensors&, Workspace = {}, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return product.workspace_bytes(); }

  GemmPlan product;
};

// Plans for these views; a tuning is gemm's. Null data counts as 16-byte aligned.
RIDGE_API Result<LinearPlan> plan_linear(const LinearTensors&, const LinearOptions&, const DeviceInfo&,
                                         const PlanOptions& = {}, const Tuning* = nullptr);

// One line: plan (cached per problem and device) and run. Throws ridge::Error.
//   linear({.x = x, .w = w, .y = y, .bias = bias}, {.activation = Activation::gelu}, stream);
RIDGE_API void linear(const LinearTensors&, const LinearOptions& = {}, Stream = {});

}  // namespace ridge
