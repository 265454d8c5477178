// transpose: y = x with its last two axes exchanged. permute: y = x with its axes in another order, as NumPy's
// transpose(axes): y's axis i is x's axis axes[i].
//
// Shapes    transpose: x [..., rows, cols] to y [..., cols, rows], rank 2 to 8, the leading axes a batch.
//           permute: any order of up to 8 axes. Strides are free; x's may also be 0 or negative. Matrices with rows
//           contiguous in x and columns contiguous in y take the fast path, even where rows and tensors do not
//           start on a 16-byte boundary.
// Types     any: bits are moved, not values. Elements have 1, 2, 4, 8 or 16 bytes. No dtype has 16 bytes: plan those
//           through TransposeProblem alone, or as a last axis that stays in its place.
// Aliasing  y must be apart from x; there is no transposition in place.
// Empty     nothing is launched.
// Repeats   bitwise identical.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/tensor.hpp>
#include <ridge/transpose/form.hpp>

namespace ridge {

struct TransposeProblem {
  std::string_view op = "transpose";  // or "permute": the operator's name
  int element_bytes = 4;
  Layout x, y;
  std::vector<int> axes;           // y's axis i is x's axis axes[i]
  int offset_x = 0, offset_y = 0;  // alignment offset: bytes of the first element past a 16-byte boundary
  bool operator==(const TransposeProblem&) const = default;

  // Contiguous, aligned tensors.
  RIDGE_API static TransposeProblem matrix(int element_bytes, std::int64_t rows, std::int64_t cols,
                                           std::int64_t batch = 1);
  RIDGE_API static Result<TransposeProblem> permute(int element_bytes, std::span<const std::int64_t> shape,
                                                    std::span<const int> axes);
  // The problem of these views. Refuses axes that are no permutation, shapes or dtypes that do not match, and overlap.
  RIDGE_API static Result<TransposeProblem> transpose(const TensorView& x, const TensorView& y);
  RIDGE_API static Result<TransposeProblem> permute(const TensorView& x, std::span<const int> axes,
                                                    const TensorView& y);
  RIDGE_API std::string text() const;
};

class TransposePlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const TensorView& x, const TensorView& y, Stream = {}) const;
  // Elements have the planned layout, starting at these addresses: for element sizes that no dtype has.
  RIDGE_API Status run(const void* x, void* y, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return 0; }

  TransposeProblem problem;
  DeviceInfo device;
  transpose_detail::Form form;
  int variant = 0;  // row of the table in variants.hpp
};

RIDGE_API Result<TransposePlan> plan_transpose(const TransposeProblem&, const DeviceInfo&, const PlanOptions& = {});

// One line each: plan (cached per problem and device) and run. Throw ridge::Error.
RIDGE_API void transpose(const TensorView& x, const TensorView& y, Stream = {});
RIDGE_API void permute(const TensorView& x, std::span<const int> axes, const TensorView& y, Stream = {});
inline void permute(const TensorView& x, std::initializer_list<int> axes, const TensorView& y, Stream s = {}) {
  permute(x, std::span(axes.begin(), axes.size()), y, s);
}

}  // namespace ridge
