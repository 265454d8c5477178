// embedding: rows of a table by index. (norm.hpp: embedding_norm, which writes their norms too.)
//
//   y[..., :] = scale * table[indices[...], :]
//
// Shapes    table [rows, cols], indices [...] of 0 to 7 axes, y [..., cols]. Strides are free; rows that are contiguous
//           and start on 16 bytes take the fast path.
// Types     table f32 f16 bf16; y has the table's type. indices i32 or i64.
// Values    An index below 0 or at least `rows` gives a row of zeros, and nothing is read; a checked plan refuses it.
//           With scale 1, the default, rows are copied unchanged; otherwise they are multiplied in float32 and rounded
//           once.
// Aliasing  y must not overlap table or indices.
// Empty     nothing is launched. A table without rows gives zeros.
// Repeats   bitwise identical.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/rows.hpp>

namespace ridge {

struct EmbeddingProblem {
  std::int64_t rows = 0, cols = 0, n = 0;  // n: indices
  DType dtype = DType::f32, index = DType::i32;
  float scale = 1;
  std::int64_t table_pitch = 0, table_step = 1;  // from row to row, from column to column
  std::int64_t y_step = 1;
  Layout y_rows = {}, indices = {};  // of the same shape, merged together
  int alignment = 16;                // common alignment of table and y in bytes, at most 16
  bool operator==(const EmbeddingProblem&) const = default;

  // Contiguous, aligned tensors.
  RIDGE_API static EmbeddingProblem contiguous(DType, std::int64_t rows, std::int64_t cols, std::int64_t n);
  // The problem of these views. Refuses shapes or dtypes that do not match, and overlap.
  RIDGE_API static Result<EmbeddingProblem> of(const TensorView& table, const TensorView& indices, const TensorView& y,
                                               float scale = 1);
  RIDGE_API std::string text() const;  // for explain()
};

class EmbeddingPlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const TensorView& table, const TensorView& indices, const TensorView& y, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return 0; }

  EmbeddingProblem problem;
  DeviceInfo device;
  int variant = 0;        // row of the table in variants.hpp
  std::int64_t grid = 0;  // blocks
  bool checked = false;   // refuses indices outside of the table
};

RIDGE_API Result<EmbeddingPlan> plan_embedding(const EmbeddingProblem&, const DeviceInfo&, const PlanOptions& = {});

// Plan (cached per problem and device) and run. Throws ridge::Error.
RIDGE_API void embedding(const TensorView& table, const TensorView& indices, const TensorView& y, float scale = 1,
                         Stream = {});

}  // namespace ridge
