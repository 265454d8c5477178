// embedding_norm: rows of a table by index, and the norm of each: the start of a decoder, in one launch.
//
//   x[..., :] = scale * table[indices[...], :], rounded to its type
//   y[..., :] = x / sqrt(mean of x^2 + eps) * gamma + beta             mode rms
//               (x - mean) / sqrt(variance + eps) * gamma + beta       mode layer; variance of a row, over its length
//
// x is the residual stream, y the input of the first layer. Both are written.
//
// Shapes    table [rows, cols], indices [...] of 0 to 7 axes, x and y [..., cols]; gamma and beta [cols], each
//           optional. Strides are free; contiguous rows of whole 16-byte vectors that start on 16 bytes take the fast
//           path if gamma and beta are contiguous and start on 16 bytes too.
// Types     f32 f16 bf16, the same for all tensors but the indices, as for a norm. indices i32 or i64. 16-bit types
//           are computed in float32.
// Values    x equals embedding's, bit for bit, and the norm is that of the rounded x: y is rms_norm or layer_norm of x,
//           within the roundings of both. An index below 0 or at least `rows` gives a row of zeros, for which nothing
//           is read, and the norm of zeros: beta, or 0 without beta; a checked plan refuses it.
//           The variance is computed from distances to the row's first element, minus their mean: a row
//           1e4 + i * 1e-3 in float32 is accurate to the last bits of x - mean; a row whose first element is far from
//           the others, to the last bits of that distance. A constant row, or one of one element, gives beta in mode
//           layer. Rows with NaN or an infinity give NaN (mode rms with an infinity: NaN there and beta elsewhere), and
//           no other row does; infinite gamma does so where it multiplies 0 or a subnormal number. Squares that leave
//           the range of float32 are summed in float64; in mode layer, distances that leave it give NaN.
// scale     finite. With 1, the default, rows are copied unchanged; otherwise they are multiplied in float32 and
//           rounded once.
// eps       not negative, and in float32's range, added inside the root; raised to float32's smallest normal number if
//           below it. With 0, a constant row (mode rms: one of zeros) gives NaN, and a row whose standard deviation
//           (mode rms: root of the mean of squares) is subnormal has meaningless values.
// Aliasing  x and y overlap no other tensor, nor each other.
// Empty     nothing is launched. A table without rows gives zeros and their norm.
// Repeats   bitwise identical.
// Gradient  The gradient of add_rms_norm or add_layer_norm, with dy, x as its sum, and dx as its dsum, gives the row's
//           gradient, dgamma and dbeta; that of a table row is their sum over the indices that name it, times scale.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/rows.hpp>
#include <ridge/norm/norm.hpp>

#include <optional>

namespace ridge {

struct EmbeddingNormTensors {
  TensorView table, indices;
  std::optional<TensorView> gamma = {}, beta = {};
  TensorView x, y;
};

struct EmbeddingNormOptions {
  Norm mode = Norm::rms;
  double eps = 1e-5;
  float scale = 1;
  bool operator==(const EmbeddingNormOptions&) const = default;
};

struct EmbeddingNormProblem {
  std::int64_t rows = 0, cols = 0, n = 0;  // n: indices
  DType dtype = DType::f32, index = DType::i32;
  EmbeddingNormOptions options = {};
  bool gamma = true, beta = false;
  std::int64_t table_pitch = 0, table_step = 1;  // from row to row, from column to column
  std::int64_t gamma_step = 1, beta_step = 1, x_step = 1, y_step = 1;
  Layout x_rows = {}, y_rows = {}, indices = {};  // of the same shape, merged together
  int alignment = 16;  // common alignment in bytes of all tensors but the indices, at most 16
  bool operator==(const EmbeddingNormProblem&) const = default;

  // Contiguous, aligned tensors; gamma without beta.
  RIDGE_API static EmbeddingNormProblem contiguous(DType, std::int64_t rows, std::int64_t cols, std::int64_t n,
                                                   const EmbeddingNormOptions& = {});
  // The problem of these views. Refuses shapes or types that do not match, and overlap.
  RIDGE_API static Result<EmbeddingNormProblem> of(const EmbeddingNormTensors&, const EmbeddingNormOptions& = {});
  RIDGE_API std::string text() const;
};

class EmbeddingNormPlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const EmbeddingNormTensors&, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return 0; }

  EmbeddingNormProblem problem;
  DeviceInfo device;
  int variant = 0;        // row of the table in norm_variants.hpp
  std::int64_t grid = 0;  // blocks
  bool checked = false;   // refuses indices outside of the table
};

RIDGE_API Result<EmbeddingNormPlan> plan_embedding_norm(const EmbeddingNormProblem&, const DeviceInfo&,
                                                        const PlanOptions& = {});

// Plan (cached per problem and device) and run. Throws ridge::Error.
RIDGE_API void embedding_norm(const EmbeddingNormTensors&, const EmbeddingNormOptions& = {}, Stream = {});

}  // namespace ridge
