// window_sum: the sum of a window around each element, along the last axis.
//
//   y[..., i] = sum over |j - i| <= (w - 1) / 2 of x[..., j], where x is 0 outside its axis
//
// Shapes    x and y have the same shape, [..., n], rank 1 to 8. Strides are free; rows of contiguous elements take the
//           fast path, wherever they start.
// Window    w is odd, from 1; even ones are refused. It may be wider than n.
// Types     f32 f16 bf16 i32; y has x's type. 16-bit floats are summed in float32 and rounded once; i32 wraps.
// Accuracy  A window's sum consists of additions of its own elements: nothing is added and subtracted again. So NaN and
//           infinities reach only the windows that contain them, and the error is at most a few dozen roundings of the
//           sum of the window's absolute values, plus one for each 131,072 elements of w (`naive` and `shared`: up to w
//           of them).
// Aliasing  y must not overlap x.
// Empty     nothing is launched.
// Repeats   bitwise identical.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/rows.hpp>

#include <optional>

namespace ridge {

struct WindowSumProblem {
  std::int64_t rows = 0, n = 0, w = 1;
  DType dtype = DType::f32;
  std::optional<Rows> x = {}, y = {};  // none: contiguous rows that start on 16 bytes
  bool operator==(const WindowSumProblem&) const = default;

  // The problem of these views. Refuses shapes or dtypes that differ, and overlap.
  RIDGE_API static Result<WindowSumProblem> of(const TensorView& x, const TensorView& y, std::int64_t w);
  RIDGE_API std::string text() const;  // for explain()
};

class WindowSumPlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const TensorView& x, const TensorView& y, Workspace, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  RIDGE_API std::size_t workspace_bytes() const;

  WindowSumProblem problem;  // x and y given
  DeviceInfo device;
  int variant = 0;        // row of the table in variants.hpp
  std::int64_t grid = 0;  // blocks
};

RIDGE_API Result<WindowSumPlan> plan_window_sum(const WindowSumProblem&, const DeviceInfo&, const PlanOptions& = {});

// Plan (cached per problem and device) and run. Throws ridge::Error.
RIDGE_API void window_sum(const TensorView& x, const TensorView& y, std::int64_t w, Stream = {});

}  // namespace ridge
