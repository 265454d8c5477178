// max_pool2d, avg_pool2d and adaptive_avg_pool2d: the maximum or the mean of each window of a plane; their gradients.
//
//   y[n, c, i, j] = max or mean over a < r, b < s of x[n, c, i stride_h - top + a dilation_h,
//   j stride_w - left + ...]
//   adaptive_avg_pool2d: the mean of rows i h / oh, rounded down, to (i + 1) h / oh, rounded up; of columns alike
//   gradients            dx from dy: an input gets the gradient of each window whose maximum it is, or its share of the
//                        gradient of each window that holds it
//
// Shapes    x [n, c, h, w] and y [n, c, oh, ow], or with PoolLayout::nhwc x [n, h, w, c] and y [n, oh, ow, c];
//           oh = (h + top + bottom - extent_h) / stride_h + 1, with extent_h = (r - 1) dilation_h + 1. It is rounded
//           down; with ceil_mode up, but a last window that would begin beyond x and its padding above is left out.
//           Adaptive: oh and ow are any numbers from 1. dy is as y, and dx as x.
//           Strides are free: planes of contiguous rows (nchw) and contiguous channels (nhwc) take the fast paths.
// Windows   any size, stride and dilation from 1, padding from 0 and below the window's extent on each side; a window
//           larger than the padded input is refused. The mean supports no dilation.
// Types     f32 f16 bf16; y has x's type. The mean is summed in float32 and rounded once.
// Values    Both propagate NaN. Padding is never the maximum: a window of padding only gives -inf. In the mean padding
//           counts as zeros (count_include_pad, the default), or does not count: then a window of padding only, as over
//           an input without rows, gives NaN. What ceil_mode's windows reach beyond the padding never counts. A sum
//           that overflows float32 is infinite.
// Gradients The maximum's reads x and y as well. A window's maximum is its first tap, in row order, that equals y (NaN
//           is the maximum, and equals NaN): a window of other numbers than y has none, nor has one of padding only.
//           The mean's reads dy alone, and divides it by the window's divisor. Sums are in float32, over the windows
//           that hold an input, in row order.
// Aliasing  y must not overlap x, nor dx any input.
// Empty     no outputs: nothing is launched.
// Repeats   bitwise identical.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/tensor.hpp>

#include <optional>

namespace ridge {

enum class Pool : std::uint8_t { max, avg, adaptive_avg };
RIDGE_API std::string_view name(Pool);

enum class PoolLayout : std::uint8_t { nchw, nhwc };

struct PoolPair {  // along h and along w
  std::int64_t h = 1, w = 1;
  bool operator==(const PoolPair&) const = default;
};

// Padding of a plane. {p, q} is p above and below, and q on the left and on the right.
struct PoolPad {
  std::int64_t top = 0, left = 0, bottom = top, right = left;
  bool operator==(const PoolPad&) const = default;
};

struct PoolWindow {
  PoolPair size = {}, stride = {};
  PoolPad pad = {};
  PoolPair dilation = {};
  bool count_include_pad = true;  // mean only
  bool ceil_mode = false;         // rounds the numbers of windows up
  bool operator==(const PoolWindow&) const = default;

  PoolPair extent() const { return {(size.h - 1) * dilation.h + 1, (size.w - 1) * dilation.w + 1}; }
  // Numbers of windows of an h x w plane. Precondition: it has one.
  PoolPair outputs(std::int64_t h, std::int64_t w) const {
    return {along(h, pad.top, pad.bottom, extent().h, stride.h), along(w, pad.left, pad.right, extent().w, stride.w)};
  }

 private:
  std::int64_t along(std::int64_t inputs, std::int64_t before, std::int64_t after, std::int64_t reach,
                     std::int64_t step) const {
    const std::int64_t last = (inputs + before + after - reach + (ceil_mode ? step - 1 : 0)) / step;
    return ceil_mode && last * step >= inputs + before ? last : last + 1;
  }
};

// A gradient's views. x and y are the maximum's alone.
struct PoolGradientTensors {
  TensorView dy;
  std::optional<TensorView> x = {}, y = {};
  TensorView dx;
};

struct PoolProblem {
  Pool function = Pool::max;
  DType dtype = DType::f32;
  PoolWindow window;  // adaptive_avg: those of a stride, where the sizes of x are multiples of those of y
  PoolLayout layout = PoolLayout::nchw;  // of memory; x and y below are always [n, c, h, w]
  Layout x, y;
  int align_x = 16, align_y = 16;  // alignment of the address in bytes, at most 16
  bool uneven = false;             // adaptive_avg: windows of no stride; window.size is about theirs
  // Backward: x and y are the layouts of dx and dy. The maximum's x and y have these.
  bool backward = false;
  Layout value_x = {}, value_y = {};
  int align_values = 16;  // the least of both
  bool operator==(const PoolProblem&) const = default;

  // Contiguous, aligned tensors. adaptive_avg: window.size is the size of y, here and in pool_shape().
  RIDGE_API static Result<PoolProblem> contiguous(Pool, DType, const PoolWindow&, PoolLayout, std::int64_t n,
                                                  std::int64_t c, std::int64_t h, std::int64_t w);
  // The problem of these views. Refuses shapes or dtypes that do not match, windows that do not fit, and overlap.
  // adaptive_avg: the windows follow from the shapes; the argument is not used.
  RIDGE_API static Result<PoolProblem> of(Pool, const PoolWindow&, PoolLayout, const TensorView& x,
                                          const TensorView& y);
  RIDGE_API static Result<PoolProblem> of_gradient(Pool, const PoolWindow&, PoolLayout, const PoolGradientTensors&);
  RIDGE_API std::string text() const;  // for explain()
};

class PoolPlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const TensorView& x, const TensorView& y, Stream = {}) const;
  RIDGE_API Status run_gradient(const PoolGradientTensors&, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return 0; }

  PoolProblem problem;
  DeviceInfo device;
  int variant = 0;        // row of the table in variants.hpp
  std::int64_t grid = 0;  // blocks
};

RIDGE_API Result<PoolPlan> plan_pool(const PoolProblem&, const DeviceInfo&, const PlanOptions& = {});

// The shape of y for an x of this shape, or why there is none.
RIDGE_API Result<std::vector<std::int64_t>> pool_shape(Pool, const PoolWindow&, PoolLayout, const Layout& x);

// One line each: plan (cached per problem and device) and run. Throw ridge::Error.
RIDGE_API void max_pool2d(const TensorView& x, const TensorView& y, const PoolWindow&, PoolLayout = PoolLayout::nchw,
                          Stream = {});
RIDGE_API void avg_pool2d(const TensorView& x, const TensorView& y, const PoolWindow&, PoolLayout = PoolLayout::nchw,
                          Stream = {});
RIDGE_API void adaptive_avg_pool2d(const TensorView& x, const TensorView& y, PoolLayout = PoolLayout::nchw,
                                   Stream = {});
RIDGE_API void max_pool2d_gradient(const TensorView& dy, const TensorView& x, const TensorView& y, const TensorView& dx,
                                   const PoolWindow&, PoolLayout = PoolLayout::nchw, Stream = {});
RIDGE_API void avg_pool2d_gradient(const TensorView& dy, const TensorView& dx, const PoolWindow&,
                                   PoolLayout = PoolLayout::nchw, Stream = {});
RIDGE_API void adaptive_avg_pool2d_gradient(const TensorView& dy, const TensorView& dx, PoolLayout = PoolLayout::nchw,
                                            Stream = {});

}  // namespace ridge
