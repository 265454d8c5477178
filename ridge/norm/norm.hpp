// layer_norm and rms_norm over the last axis, both also of a sum that is formed first, and their gradients.
//
//   layer_norm  y = (x - mean) / sqrt(variance + eps) * gamma + beta        variance: of the whole row, over its length
//   rms_norm    y = x / sqrt(mean of x^2 + eps) * gamma + beta
//   add_*       sum = x + residual, rounded to its type; y is the norm of sum. Both are written
//   gradients   dx from dy and x, dgamma and dbeta (add_*: from dy and sum; dx is the gradient of x and residual, and
//               dsum, sum's own incoming gradient, is added to it). Statistics are computed again from x
//
// Shapes    tensors of one shape, [..., cols], rank 1 to 8, and parameters of [cols]. gamma and beta are optional, each
//           on its own, as are dgamma, dbeta and dsum. Strides are free. The fast path takes contiguous rows, wherever
//           they start, that are co-aligned on 16 bytes in all tensors, and contiguous parameters.
// Types     f32 f16 bf16 f64, the same for all tensors. 16-bit types are computed in float32.
// Values    The variance is that of x - mean: from distances to an element of the row, to 0 if the mean is near 0, or
//           to the rounded mean, whose error is taken out. A row 1e4 + i * 1e-3 in float32 is right to the last bits of
//           x - mean; a row whose first element lies far from the others, to the last bits of that distance. Gradients
//           may take distances from the mean of 32 elements: if just these lie far from the others, the variance errs
//           by cols / 32 roundings. A constant row, or one of one element, gives beta. Rows with NaN or an infinity
//           give NaN (rms_norm with an infinity: NaN there and beta elsewhere); infinite gamma gives NaN where it
//           multiplies 0 or a number below the normal ones. Rows whose squares leave the range of float32 (f64: its
//           own), large or small, have their statistics taken again in float64 (f64: of x times a power of two). In
//           gradients, dx has no meaning where dy gamma, or its sum over a row, by itself or times x - mean, leaves
//           that range.
// Accuracy  Accumulate::two_float, for rows of f32, forward, sums x and its square in float64, and keeps mean and scale
//           as double-floats (two floats each): an element of y is off by two roundings of its own, and by terms of the
//           square of float32's roundoff, however far the mean is from 0. This requires x - mean in the range of
//           float32 (elsewhere that element of y has no meaning), and a row's standard deviation between 1e-37 and
//           1e37. Infinite elements of gamma give NaN or an infinity.
// eps       not negative, in float32's range (f64: finite), added inside the root; if below float32's least normal
//           number (f64: its own), that number is taken. With 0, a constant row (rms_norm: one of zeros) gives NaN, and
//           one whose standard deviation (rms_norm: root of the mean of squares) is below the normal numbers has values
//           of no meaning.
// Aliasing  y and sum may each be x or residual itself (the same elements); any other overlap is refused, and every
//           overlap for gradients.
// Empty     no rows: dgamma and dbeta are 0, nothing else is written. Rows of no columns: nothing is launched.
// Repeats   bit for bit. dgamma and dbeta are summed over rows in an order that the plan fixes. A short row's last bits
//           may depend on its neighbours: rows that share a warp take the second pass together.
#pragma once
#include <ridge/core/accumulate.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/rows.hpp>

#include <array>
#include <optional>

namespace ridge {

enum class Norm : std::uint8_t { layer, rms };

struct NormTensors {
  TensorView x;
  std::optional<TensorView> residual = {}, gamma = {}, beta = {};
  TensorView y;
  std::optional<TensorView> sum = {};  // given where residual is
};

struct NormGradientTensors {
  TensorView dy, x;
  std::optional<TensorView> gamma = {}, dsum = {};
  TensorView dx;
  std::optional<TensorView> dgamma = {}, dbeta = {};
};

struct NormProblem {
  Norm norm = Norm::layer;
  bool backward = false;
  std::int64_t rows = 0, cols = 0;
  DType dtype = DType::f32;
  double eps = 1e-5;
  // The tensors besides x and y, or dy, x and dx. `added`: residual and sum; backward: dsum.
  bool added = false, gamma = true, beta = true, dgamma = false, dbeta = false;
  Accumulate accumulate = Accumulate::plain;
  // Layouts of x, y, residual, sum; backward: of x, dx, dy, dsum. An absent tensor has that of x. If not given, all are
  // contiguous rows that start on 16 bytes.
  std::optional<std::array<Rows, 4>> row_layouts = {};
  bool parameters_contiguous = true;
  bool operator==(const NormProblem&) const = default;

  // The problem of these views; refuses shapes or dtypes that differ, and overlap.
  RIDGE_API static Result<NormProblem> of(Norm, double eps, const NormTensors&, Accumulate = Accumulate::plain);
  RIDGE_API static Result<NormProblem> of(Norm, double eps, const NormGradientTensors&);
  RIDGE_API std::string text() const;  // as in explain()
};

class NormPlan {
 public:
  // The views must be as planned, and the workspace have workspace_bytes().
  RIDGE_API Status run(const NormTensors&, Workspace = {}, Stream = {}) const;
  RIDGE_API Status run(const NormGradientTensors&, Workspace = {}, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return workspace; }

  NormProblem problem;  // with row_layouts
  DeviceInfo device;
  int variant = 0;            // row of the table in variants.hpp
  std::int64_t grid = 0;      // blocks of the kernel over rows
  std::size_t workspace = 0;  // bytes
};

RIDGE_API Result<NormPlan> plan_norm(const NormProblem&, const DeviceInfo&, const PlanOptions& = {});

// One line each: plan (cached per problem and device), borrow workspace from the stream's pool, run. Throw
// ridge::Error.
struct NormOptions {
  std::optional<TensorView> gamma = {}, beta = {};
  double eps = 1e-5;
  Accumulate accumulate = Accumulate::plain;
};
RIDGE_API void layer_norm(const TensorView& x, const TensorView& y, const NormOptions& = {}, Stream = {});
RIDGE_API void rms_norm(const TensorView& x, const TensorView& y, const NormOptions& = {}, Stream = {});
RIDGE_API void add_layer_norm(const TensorView& x, const TensorView& residual, const TensorView& y,
                              const TensorView& sum, const NormOptions& = {}, Stream = {});
RIDGE_API void add_rms_norm(const TensorView& x, const TensorView& residual, const TensorView& y, const TensorView& sum,
                            const NormOptions& = {}, Stream = {});
RIDGE_API void norm_gradients(Norm, const NormGradientTensors&, double eps = 1e-5, Stream = {});

}  // namespace ridge
