// linear: y = act(x w^T + bias) + residual, a layer's product over the last axis of x, whatever axes lead.
//
// Shapes    x [..., in], w [out, in], y and residual [..., out], bias [out]. x may have 1 to 8 axes; those before the
//           last are rows. Strides are free where the leading axes of x, y and residual, seen together, lie as rows of
//           one matrix or as a batch of matrices; else refused, which says so.
// Types     as gemm has them, x and w for A and B, y for D; bias and residual have any type that y may have. Sums in
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

  // The matrices that they are to gemm; refuses shapes that do not belong together.
  RIDGE_API Result<GemmTensors> matrices() const;
};

struct LinearOptions {
  Activation activation = Activation::none;
  GemmMath math = GemmMath::exact;
};

class LinearPlan {
 public:
  // The views must be as planned. workspace_bytes() of workspace are used.
  RIDGE_API Status run(const LinearTensors&, Workspace = {}, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return product.workspace_bytes(); }

  GemmPlan product;
};

// What the views need; a tuning is gemm's. Where data is null, it counts as aligned to 16 bytes.
RIDGE_API Result<LinearPlan> plan_linear(const LinearTensors&, const LinearOptions&, const DeviceInfo&,
                                         const PlanOptions& = {}, const Tuning* = nullptr);

// One line: plan (cached per problem and device) and run. Throws ridge::Error.
//   linear({.x = x, .w = w, .y = y, .bias = bias}, {.activation = Activation::gelu}, stream);
RIDGE_API void linear(const LinearTensors&, const LinearOptions& = {}, Stream = {});

}  // namespace ridge
