// Reductions of many elements to one.
//
//   sum mean max min                  of one input, over all its elements or along any of its axes
//   argmax argmin                     over all its elements or along any one axis
//   dot                               of two inputs of one shape, over all elements
//   trace                             the sum of a matrix's diagonal, of min(rows, cols) elements; no others are read
//
// Shapes    y's shape says what is reduced: y is a scalar (rank 0), or has x's shape without the axes named (by default
//           the last), or with 1 in their places. Up to 8 axes. Strides are free: any of them may be 0 (broadcast) or
//           negative. A row is the elements of one result. Contiguous rows take the fast path, wherever they start;
//           dot's inputs do if they are co-aligned on 16 bytes. So do rows that are side by side, as columns are, if
//           their number is a multiple of 16 bytes and all start on a 16-byte boundary (sums of f32 f16 bf16:
//           anywhere). Others are slower, such as rows of several axes that do not merge.
// Types     f64 f32 f16 bf16 i64 i32 i8 u8. y has x's type, except that sums and dots of
//           integers are i64 (and wrap), means of integers are f64 (of a sum that does not), and argmax and argmin are
//           i64.
// Accuracy  16-bit floats are accumulated in float32 and rounded once, so a sum of f16 beyond 65504 is infinite. A
//           mean is the sum over the count, and overflows where the sum does. Floats are added along chains of at
//           most 1,024, whose results are added as a tree: the error is at most (1024 + 160) eps sum|x|, and far less
//           in common shapes (Partition::additions, request.hpp), except for the variants `atomic` and `block_atomic`,
//           whose additions to y are a single chain.
//           Accumulate::two_float, for sum, mean, dot and trace of f32, accumulates in double-floats (two floats each),
//           which keep what each addition rounds away: the error is that of rounding the result once, and at most
//           (1024 + 160)^2 eps^2 sum|x|, nearly that of f64.
// Values    NaN passes through max and min. argmax and argmin give the first NaN, else the first of ties; over a
//           tensor of several axes the index is that of the element in row-major order.
// Empty     sum, dot and trace of nothing are 0, mean is NaN; max, min, argmax and argmin of nothing are refused.
// Aliasing  y must not overlap an input.
// Repeats   bit for bit on one device, except for the variants `atomic` and `block_atomic` on floats, which run only
//           when they are named. On a GPU they treat subnormal floats as 0, as the hardware's atomic addition does.
// Workspace workspace_bytes() of scratch, whose contents need not be set.
#pragma once
#include <ridge/core/accumulate.hpp>
#include <ridge/core/axes.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/tensor.hpp>

namespace ridge {

enum class Reduce : std::uint8_t { sum, mean, max, min, argmax, argmin, dot, trace };
RIDGE_API std::string_view name(Reduce);

constexpr int arity(Reduce f) { return f == Reduce::dot ? 2 : 1; }

// The type of y.
constexpr DType result_type(Reduce f, DType dtype) {
  if (f == Reduce::argmax || f == Reduce::argmin) return DType::i64;
  if (is_floating(dtype) || f == Reduce::max || f == Reduce::min) return dtype;
  return f == Reduce::mean ? DType::f64 : DType::i64;
}

struct ReduceProblem {
  Reduce function = Reduce::sum;
  DType dtype = DType::f32;
  // z is dot's second input, else x; trace: x is the diagonal; y is a scalar, or has x's shape without some axes.
  Layout x, z, y;
  int alignment = 16;  // bytes, 16 at most: the widest access on which all inputs are co-aligned (reach())
  int start = 16;      // bytes, 16 at most: the alignment of x's address
  AxisSet axes = {};   // of x, those that are reduced. Ignored if y is a scalar
  Accumulate accumulate = Accumulate::plain;
  bool operator==(const ReduceProblem&) const = default;

  // Over everything: n contiguous, aligned elements.
  RIDGE_API static ReduceProblem flat(Reduce, DType, std::int64_t n);
  // Along the last axis of a contiguous, aligned matrix.
  RIDGE_API static ReduceProblem rows(Reduce, DType, std::int64_t rows, std::int64_t cols);
  // Along any axis, or several, of a contiguous, aligned tensor.
  RIDGE_API static ReduceProblem along(Reduce, DType, std::span<const std::int64_t> shape, int axis);
  RIDGE_API static ReduceProblem along(Reduce, DType, std::span<const std::int64_t> shape, AxisSet);
  // The diagonal of a contiguous matrix.
  RIDGE_API static ReduceProblem trace(DType, std::int64_t rows, std::int64_t cols);
  // The problem of these views (trace: of the diagonal); refuses shapes and dtypes that do not match, and outputs that
  // overlap inputs.
  RIDGE_API static Result<ReduceProblem> of(Reduce, const TensorView& x, const TensorView* z, const TensorView& y,
                                            int axis = -1, Accumulate = Accumulate::plain);
  RIDGE_API static Result<ReduceProblem> of(Reduce, const TensorView& x, const TensorView* z, const TensorView& y,
                                            AxisSet, Accumulate = Accumulate::plain);
  RIDGE_API std::string text() const;  // as in explain()
};

// A problem as kernels see it: `rows` results, each of `cols` elements. The first `outer` axes count the rows; the
// others are reduced. Both are in the order of x's strides, and neighbouring ones merged; only the axes of argmax and
// argmin over all elements keep their order, which the index depends on.
struct ReduceAxes {
  int outer = 0, rank = 0;
  std::int64_t shape[max_rank] = {}, x[max_rank] = {}, z[max_rank] = {}, y[max_rank] = {};  // y: only outer axes
};

namespace reduce_detail {

// The sizes: `rows` results of `cols` elements each.
struct Extent {
  std::int64_t rows = 1, cols = 1;
  std::int64_t inner = 1;  // rows side by side, nearer to each other than a row's elements are
};

}  // namespace reduce_detail

class ReducePlan {
 public:
  // Only dot reads z. The views must be as planned.
  RIDGE_API Status run(const TensorView& x, const TensorView& z, const TensorView& y, Workspace, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return workspace; }

  ReduceProblem problem;
  DeviceInfo device;
  ReduceAxes axes;
  reduce_detail::Extent extent;
  int variant = 0;            // row of the table in variants.hpp
  std::int64_t slices = 1;    // partial results of each row
  std::int64_t grid = 0;      // blocks of the kernel that reads x
  int smem = 0;               // bytes of its dynamic shared memory
  std::size_t workspace = 0;  // bytes
};

RIDGE_API Result<ReducePlan> plan_reduce(const ReduceProblem&, const DeviceInfo&, const PlanOptions& = {});

// One line each: plan (cached per problem and device), borrow workspace, run. Throw ridge::Error.
//   sum(x, y);      over everything if y is a scalar, else along the last axis
//   sum(x, 0, y);   along the first
//   sum(x, AxisSet::of({0, 2}), y);
//   reduce(Reduce::sum, x, 0, y, stream, Accumulate::two_float);
RIDGE_API void reduce(Reduce, const TensorView& x, const TensorView& y, Stream = {});
RIDGE_API void reduce(Reduce, const TensorView& x, int axis, const TensorView& y, Stream = {},
                      Accumulate = Accumulate::plain);
RIDGE_API void reduce(Reduce, const TensorView& x, AxisSet, const TensorView& y, Stream = {},
                      Accumulate = Accumulate::plain);  // as for an int, all axes if y is a scalar
RIDGE_API void dot(const TensorView& x, const TensorView& z, const TensorView& y, Stream = {},
                   Accumulate = Accumulate::plain);
inline void sum(const TensorView& x, const TensorView& y, Stream s = {}) { reduce(Reduce::sum, x, y, s); }
inline void trace(const TensorView& x, const TensorView& y, Stream s = {}) { reduce(Reduce::trace, x, y, s); }
inline void mean(const TensorView& x, const TensorView& y, Stream s = {}) { reduce(Reduce::mean, x, y, s); }
inline void max(const TensorView& x, const TensorView& y, Stream s = {}) { reduce(Reduce::max, x, y, s); }
inline void min(const TensorView& x, const TensorView& y, Stream s = {}) { reduce(Reduce::min, x, y, s); }
inline void argmax(const TensorView& x, const TensorView& y, Stream s = {}) { reduce(Reduce::argmax, x, y, s); }
inline void argmin(const TensorView& x, const TensorView& y, Stream s = {}) { reduce(Reduce::argmin, x, y, s); }
// axis: an int, or an AxisSet.
template <class Axis> void sum(const TensorView& x, Axis axis, const TensorView& y, Stream s = {}) {
  reduce(Reduce::sum, x, axis, y, s);
}
template <class Axis> void mean(const TensorView& x, Axis axis, const TensorView& y, Stream s = {}) {
  reduce(Reduce::mean, x, axis, y, s);
}
template <class Axis> void max(const TensorView& x, Axis axis, const TensorView& y, Stream s = {}) {
  reduce(Reduce::max, x, axis, y, s);
}
template <class Axis> void min(const TensorView& x, Axis axis, const TensorView& y, Stream s = {}) {
  reduce(Reduce::min, x, axis, y, s);
}
inline void argmax(const TensorView& x, int axis, const TensorView& y, Stream s = {}) {
  reduce(Reduce::argmax, x, axis, y, s);
}
inline void argmin(const TensorView& x, int axis, const TensorView& y, Stream s = {}) {
  reduce(Reduce::argmin, x, axis, y, s);
}

}  // namespace ridge
