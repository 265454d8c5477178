// softmax and log_softmax over one axis, by default the last: y = exp(x - max) / sum exp(x - max), and its logarithm;
// and dx from y and dy: y (dy - sum dy y), for the logarithm dy - exp(y) sum dy.
//
// Shapes    x and y of one shape, [..., cols], rank 1 to 8. Strides are free; the fast paths take contiguous rows that
//           are co-aligned in x and y, even if they do not start on a 16-byte boundary, and rows that lie side by side,
//           as those of another axis of a contiguous tensor do. A problem is of the last axis: of another one it is
//           that of axis_last(x, axis), which moves no data.
// Types     f32 f16 bf16 f64; y has x's type. 16-bit types are computed in float32.
// Accuracy  Accumulate::two_float, for f32, forward, takes x - max, its exponential and the sum in double-float
//           arithmetic: y is rounded once, whatever x - max and cols are, where float32 errs by more the larger x - max
//           is; log_softmax errs by 2^-22 of log sum.
// Values    The row's maximum is subtracted, so nothing overflows. A row of nothing but -inf gives NaN, as does a row
//           with +inf or NaN; one element gives 1 (log: 0).
// Aliasing  y may be x itself (the same elements), and dx may be y or dy; any other overlap is refused.
// Empty     no rows, or rows of no columns: nothing is launched.
// Repeats   bit for bit.
#pragma once
#include <ridge/core/accumulate.hpp>
#include <ridge/core/axes.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/rows.hpp>

#include <optional>

namespace ridge {

struct SoftmaxProblem {
  std::int64_t rows = 0, cols = 0;
  DType dtype = DType::f32;
  bool log = false, backward = false;
  Accumulate accumulate = Accumulate::plain;
  // Layouts; if not given, contiguous rows that start on 16 bytes. Backward: x is that of y, and y is that of dx.
  std::optional<Rows> x = {}, y = {}, dy = {};
  bool operator==(const SoftmaxProblem&) const = default;

  // The problem of these views; refuses shapes or dtypes that differ and partial overlap.
  RIDGE_API static Result<SoftmaxProblem> of(bool log, const TensorView& x, const TensorView& y);
  RIDGE_API static Result<SoftmaxProblem> of(bool log, const TensorView& x, const TensorView& y, Accumulate);
  RIDGE_API static Result<SoftmaxProblem> of_gradient(bool log, const TensorView& dy, const TensorView& y,
                                                      const TensorView& dx);
  RIDGE_API std::string text() const;  // as in explain()
};

class SoftmaxPlan {
 public:
  // The views must be as planned, and the workspace have workspace_bytes(). The overloads without one are for plans
  // that need none: for all problems but a few multi-block rows.
  RIDGE_API Status run(const TensorView& x, const TensorView& y, Workspace, Stream) const;
  RIDGE_API Status run_gradient(const TensorView& dy, const TensorView& y, const TensorView& dx, Workspace,
                                Stream) const;
  Status run(const TensorView& x, const TensorView& y, Stream stream = {}) const { return run(x, y, {}, stream); }
  Status run_gradient(const TensorView& dy, const TensorView& y, const TensorView& dx, Stream stream = {}) const {
    return run_gradient(dy, y, dx, {}, stream);
  }
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return workspace; }

  SoftmaxProblem problem;  // with x and y
  DeviceInfo device;
  int variant = 0;            // row of the table in variants.hpp
  std::int64_t grid = 0;      // blocks
  std::size_t workspace = 0;  // bytes
};

RIDGE_API Result<SoftmaxPlan> plan_softmax(const SoftmaxProblem&, const DeviceInfo&, const PlanOptions& = {});

// One line each: plan (cached per problem and device) and run. Throw ridge::Error.
RIDGE_API void softmax(const TensorView& x, const TensorView& y, Stream = {});
RIDGE_API void log_softmax(const TensorView& x, const TensorView& y, Stream = {});
RIDGE_API void softmax(const TensorView& x, int axis, const TensorView& y, Stream = {});  // -1: the last
RIDGE_API void log_softmax(const TensorView& x, int axis, const TensorView& y, Stream = {});
RIDGE_API void softmax(const TensorView& x, int axis, const TensorView& y, Accumulate, Stream = {});
RIDGE_API void log_softmax(const TensorView& x, int axis, const TensorView& y, Accumulate, Stream = {});
RIDGE_API void softmax_gradient(const TensorView& dy, const TensorView& y, const TensorView& dx, Stream = {});
RIDGE_API void log_softmax_gradient(const TensorView& dy, const TensorView& y, const TensorView& dx, Stream = {});

}  // namespace ridge
