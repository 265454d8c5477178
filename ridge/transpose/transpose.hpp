// transpose: y = x with its last two axes exchanged. permute: y = x with its axes in another order, as NumPy's
// transpose(axes): y's axis i is x's axis axes[i].
//
// Shapes    transpose: x [..., rows, cols] to y [..., cols, rows], rank 2 to 8, the leading axes a batch.
//           permute: any order of up to 8 axes. Strides are free, of x also 0 and negative. Matrices whose rows are
//           contiguous in x and whose columns are contiguous in y take the fast path, also where rows and tensors
//           start off a 16-byte boundary.
// Types     any: bits are moved, not values. Elements of 1, 2, 4, 8 or 16 bytes; no dtype has 16, so those are
//           planned by TransposeProblem alone, or are a last axis that stays in its place.
// Aliasing  y must be apart from x; there is no transposition in place.
// Empty     nothing is launched.
// Repeats   bit for bit.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/tensor.hpp>
#include <ridge/transpose/form.hpp>

namespace ridge {

struct TransposeProblem {
  std::string_view op = "transpose";  // or "permute": the name it goes by
  int element_bytes = 4;
  Layout x, y;
  std::vector<int> axes;         // y's axis i is x's axis axes[i]
  int phase_x = 0, phase_y = 0;  // bytes of the first element past a 16-byte boundary
  bool operator==(const TransposeProblem&) const = default;

  // Contiguous, aligned tensors.
  RIDGE_API static TransposeProblem matrix(int element_bytes, std::int64_t rows, std::int64_t cols,
                                           std::int64_t batch = 1);
  RIDGE_API static Result<TransposeProblem> permute(int element_bytes, std::span<const std::int64_t> shape,
                                                    std::span<const int> axes);
  // What the views need; refuses axes that are no permutation, shapes or dtypes that do not follow, and overlap.
  RIDGE_API static Result<TransposeProblem> transpose(const TensorView& x, const TensorView& y);
  RIDGE_API static Result<TransposeProblem> permute(const TensorView& x, std::span<const int> axes,
                                                    const TensorView& y);
  RIDGE_API std::string text() const;
};

class TransposePlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const TensorView& x, const TensorView& y, Stream = {}) const;
  // The elements lie as planned, from these addresses on: for elements that no dtype has the size of.
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
