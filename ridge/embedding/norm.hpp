// embedding_norm: rows of a table by their numbers, and the norm of each: what a decoder begins with, in one launch.
//
//   x[..., :] = scale * table[indices[...], :], rounded to its type
//   y[..., :] = x / sqrt(mean of x^2 + eps) * gamma + beta             mode rms
//               (x - mean) / sqrt(variance + eps) * gamma + beta       mode layer; variance: of a row, over its length
//
// x is the residual stream, and y what the first layer takes. Both are written.
//
// Shapes    table [rows, cols], indices [...] of 0 to 7 axes, x and y [..., cols]; gamma and beta [cols], optional,
//           each on its own. Strides are free; rows of whole 16-byte units that are contiguous and start on 16 bytes
//           take the fast path, with gamma and beta that are and do.
// Types     f32 f16 bf16, all but the indices of one, as a norm's tensors are. indices i32 or i64. 16-bit types are
//           computed in float32.
// Values    x is embedding's, bit for bit, and the norm is that of x as it was rounded: y is what rms_norm or
//           layer_norm makes of x, within the roundings of both. An index below 0 or from `rows` on gives a row of
//           zeros, for which nothing is read, and the norm of zeros: beta, or 0 without one; a plan that is asked to be
//           checked refuses it. The variance is that of
//           distances from the row's first element, less their mean: a row 1e4 + i * 1e-3 in float32 is right to the
//           last bits of x - mean; one whose first element lies far from the others, to those of that distance. A
//           constant row, or one of one element, gives beta in mode layer. Rows with NaN or an infinity give NaN (mode
//           rms with an infinity: NaN there and beta elsewhere), and no other row does; infinite gamma does so where
//           what it multiplies is 0 or below the normal numbers. Rows whose squares leave the range of float32 have
//           them summed in float64; in mode layer, distances that leave it give NaN.
// scale     finite. With 1, the default, rows are copied as they are; otherwise they are multiplied in float32 and
//           rounded once.
// eps       finite and not negative, added inside the root; below float32's least normal number, that number. With 0, a
//           row of zeros gives NaN, in mode layer any constant one; and one whose deviation, in mode rms whose root of
//           the mean of squares, is below the normal numbers has values of no meaning.
// Aliasing  x and y overlap nothing, nor each other.
// Empty     nothing is launched. A table without rows gives zeros and their norm.
// Repeats   bit for bit.
// Gradient  that of add_rms_norm or add_layer_norm, of dy, x as its sum, and dx as its dsum, gives the row's gradient,
//           dgamma and dbeta; a row of the table has the sum, times scale, over the indices that name it.
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
  Layout x_rows = {}, y_rows = {}, indices = {};  // of one shape, merged together
  int alignment = 16;  // bytes that the addresses of all tensors but the indices are multiples of, 16 at most
  bool operator==(const EmbeddingNormProblem&) const = default;

  // Contiguous, aligned tensors; gamma without beta.
  RIDGE_API static EmbeddingNormProblem contiguous(DType, std::int64_t rows, std::int64_t cols, std::int64_t n,
                                                   const EmbeddingNormOptions& = {});
  // What the views need; refuses shapes or types that do not belong together, and overlap.
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
  bool checked = false;   // indices of no row are refused
};

RIDGE_API Result<EmbeddingNormPlan> plan_embedding_norm(const EmbeddingNormProblem&, const DeviceInfo&,
                                                        const PlanOptions& = {});

// Plan (cached per problem and device) and run. Throws ridge::Error.
RIDGE_API void embedding_norm(const EmbeddingNormTensors&, const EmbeddingNormOptions& = {}, Stream = {});

}  // namespace ridge
