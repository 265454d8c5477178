// gemv: y = act(alpha * A x + beta * c + bias), a matrix times a vector.
//
// Shapes    A [M, K], x [K], y, c and bias [M]. A's strides alone give its layout, so A^T x of a stored matrix [K, M]
//           is gemv of its `transposed()` view. The layouts of the BLAS, for rows as they are stored:
//             n: A as it is used, rows of K elements      t: A stored as [K, M], rows of M elements
//           Any sizes, any strides, any alignment. The fast path needs an A that is contiguous along one of its axes,
//           with 16-byte aligned stored rows, and in layout n a 16-byte aligned x too; others are correct but slower.
// Types     f64 f32 f16 bf16, all tensors of one type; 16-bit types are multiplied and added in float32 and rounded
//           once.
// Values    beta == 0: c is not read, and need not be given. alpha == 0 or K == 0: neither A nor x is read, and y is
//           act(beta * c + bias). relu(NaN) is NaN.
// Aliasing  y may be c or bias itself (the same elements); any other overlap is refused.
// Empty     M == 0: nothing is launched.
// Repeats   bit for bit.
// Workspace workspace_bytes() of scratch, whose contents need not be set.
#pragma once
#include <ridge/core/activation.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>

#include <optional>

namespace ridge {

struct GemvScalars {
  double alpha = 1, beta = 0;
  Activation activation = Activation::none;
  bool operator==(const GemvScalars&) const = default;
};

// The views of one run.
struct GemvTensors {
  TensorView a, x, y;
  std::optional<TensorView> c = {}, bias = {};
};

struct GemvProblem {
  // A vector's layout.
  struct Vector {
    std::int64_t stride = 1;
    int alignment_offset = 0;  // bytes of the first element past a 16-byte boundary
    bool operator==(const Vector&) const = default;
  };

  std::int64_t m = 0, k = 0;
  DType dtype = DType::f32;
  std::int64_t row_stride = 0, k_stride = 1;  // of A [m, k]
  int alignment_offset = 0;                   // of A
  Vector x = {}, y = {};
  std::optional<Vector> c = {}, bias = {};
  GemvScalars scalars = {};
  bool operator==(const GemvProblem&) const = default;

  // Packed, aligned tensors; c where beta is not 0.
  RIDGE_API static GemvProblem packed(DType, std::int64_t m, std::int64_t k, bool transposed = false,
                                      const GemvScalars& = {}, bool bias = false);
  // The problem of these views; refuses shapes that do not fit together, unsupported types, and overlap.
  RIDGE_API static Result<GemvProblem> of(const GemvTensors&, const GemvScalars& = {});
  RIDGE_API std::string text() const;  // "f32 4096x4096 t, bias+relu"
};

class GemvPlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const GemvTensors&, Workspace, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return workspace; }

  GemvProblem problem;
  DeviceInfo device;
  int variant = 0;            // row of the table in variants.hpp
  std::int64_t slices = 1;    // parts of K (split-K), each with its own partial results
  std::size_t workspace = 0;  // bytes
};

RIDGE_API Result<GemvPlan> plan_gemv(const GemvProblem&, const DeviceInfo&, const PlanOptions& = {});

// One line: plan (cached per problem and device), borrow workspace, run. Throws ridge::Error.
//   gemv({.a = w, .x = x, .y = y, .bias = b}, {.activation = Activation::gelu}, stream);
RIDGE_API void gemv(const GemvTensors&, const GemvScalars& = {}, Stream = {});
inline void gemv(const TensorView& a, const TensorView& x, const TensorView& y, Stream stream = {}) {
  gemv({.a = a, .x = x, .y = y}, {}, stream);
}

}  // namespace ridge
