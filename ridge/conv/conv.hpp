// conv2d: the cross-correlation of images with filters, and its gradients. conv1d is the same of signals, which are
// images of one row, and conv3d of volumes, which have a depth besides. conv_transpose.hpp has the transposed ones.
//
//   y[n, k, i, j] = act(b[k] + sum over c, a, b of x[n, c, i stride_h - top + a dilation_h, j stride_w - left + ...]
//                                                  * w[k, c, a, b]) + residual[n, k, i, j]
//
// and its gradients:  dx[n, c, i, j] = sum of dy w over the outputs that x[n, c, i, j] is in
//                     dw[k, c, a, b] = sum over n, i, j of dy[n, k, i, j] x[n, c, i stride_h - top + a dilation_h, ...]
//
// Shapes    x [n, c, h, w], w [k, c / groups, r, s], y and residual [n, k, oh, ow]; with ConvLayout::nhwc
//           x [n, h, w, c], w [k, r, s, c / groups], y [n, oh, ow, k]. dy is as y, dx as x, dw as w. bias [k].
//           oh = (h + top + bottom - ((r - 1) dilation_h + 1)) / stride_h + 1, rounded down; ow alike.
//           Filter k sees the channels of its group: c / groups neighbours, of k / groups neighbouring filters.
//           conv1d: x [n, c, w], w [k, c / groups, s], y [n, k, ow]; with nhwc x [n, w, c], w [k, s, c / groups],
//           y [n, ow, k]; the geometry along h is left as it is.
//           conv3d: x [n, c, d, h, w], w [k, c / groups, t, r, s], y [n, k, od, oh, ow]; with nhwc x [n, d, h, w, c],
//           w [k, t, r, s, c / groups], y [n, od, oh, ow, k]; od as oh, with ConvGeometry::depth.
//           Strides are free, alignment too.
// Geometry  strides and dilations from 1, padding from 0 on each side. Groups that do not divide c and k are refused,
//           and so is a filter whose extent is larger than the padded input.
// Types     f32 f16 bf16, one for all tensors. Sums, bias, activation and residual are float32; float32 means float32,
//           unless ConvMath::tf32 lets both f32 factors be rounded to 10 bits of fraction. Gradients never use TF32.
//           With 3 x 3 filters in float32 the sums may be Winograd's, F(2x2, 3x3): the magnitudes of the 4 x 4 inputs
//           around an output bound their error, not those of its own 3 x 3.
// Values    Outside of x, and outside of dy in dx's sum, there are zeros, multiplied like any number: a NaN or an
//           infinity in a filter gives NaN in the outputs whose windows reach into the padding. relu(NaN) is NaN.
// Epilogue  The residual is added after the activation, as in gemm, or before it (residual_first), as residual networks
//           want it. Gradients are those of the sum alone: of x, of w, or both. For dx alone x is not read, for dw
//           alone w is not: they say the shapes.
// Aliasing  Outputs must not overlap inputs or each other; y may be the residual itself.
// Empty     No outputs: nothing is launched. No channels, or no pixels: y is act(b) + residual, gradients are 0.
// Repeats   bit for bit.
#pragma once
#include <ridge/core/activation.hpp>
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/gemm/gemm.hpp>

#include <optional>
#include <vector>

namespace ridge {

enum class ConvLayout : std::uint8_t { nchw, nhwc };

struct ConvPair {  // along h and along w
  std::int64_t h = 1, w = 1;
  bool operator==(const ConvPair&) const = default;
};

struct ConvPad {
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;
  bool operator==(const ConvPad&) const = default;
};

struct ConvDepth {  // along the depth of a volume: conv3d's alone
  std::int64_t stride = 1, dilation = 1, front = 0, back = 0;
  bool operator==(const ConvDepth&) const = default;
};

struct ConvGeometry {
  ConvPair stride = {}, dilation = {};
  ConvPad pad = {};
  ConvDepth depth = {};
  std::int64_t groups = 1;
  ConvLayout layout = ConvLayout::nchw;  // the order of axes, for all tensors
  bool operator==(const ConvGeometry&) const = default;
};

enum class ConvMath : std::uint8_t { exact, tf32 };

struct ConvEpilogue {
  Activation activation = Activation::none;
  bool residual_first = false;  // added before the activation
  bool operator==(const ConvEpilogue&) const = default;
};

// The views of one run.
struct ConvTensors {
  TensorView x, w, y;
  std::optional<TensorView> bias = {}, residual = {};
};
struct ConvGradientTensors {
  TensorView dy, x, w;
  std::optional<TensorView> dx = {}, dw = {};  // one of them at least
};

struct ConvProblem {
  DType dtype = DType::f32;
  ConvGeometry geometry = {};
  ConvEpilogue epilogue = {};
  ConvMath math = ConvMath::exact;  // the least precision of the products
  bool backward = false;
  bool transposed = false;  // a transposed convolution (conv_transpose.hpp): a backward problem with an epilogue
  int axes = 2;             // of an image; 1: the tensors that are given have no h, and these have one row; 3: volumes
  // Axes are in the order n, c, h, w and k, c, r, s, whatever the layout, and a volume's depth is a fifth behind them,
  // so that what is said of images is said of its slices. y is dy in a backward problem.
  Layout x = {}, w = {}, y = {};
  std::optional<Layout> dx = {}, dw = {};          // of a backward problem: the gradients that are asked for
  std::optional<Layout> bias = {}, residual = {};  // of y, or of a transposed problem's dx
  int alignment = 16;                              // of all addresses, in bytes; 16 at most
  bool operator==(const ConvProblem&) const = default;

  // Contiguous, aligned tensors.
  RIDGE_API static Result<ConvProblem> contiguous(DType, const ConvGeometry&, std::int64_t n, std::int64_t c,
                                                  std::int64_t h, std::int64_t w, std::int64_t k, std::int64_t r,
                                                  std::int64_t s, bool backward = false);
  // The problem of these views, of 4 axes, of conv1d's 3 or of conv3d's 5; refuses shapes, dtypes and devices that do
  // not match, filters that do not fit, and overlap.
  RIDGE_API static Result<ConvProblem> of(const ConvTensors&, const ConvGeometry& = {}, const ConvEpilogue& = {},
                                          ConvMath = ConvMath::exact);
  RIDGE_API static Result<ConvProblem> of_gradient(const ConvGradientTensors&, const ConvGeometry& = {});
  // A transposed convolution's: see conv_transpose.hpp.
  RIDGE_API static Result<ConvProblem> of_transposed(const ConvTensors&, const ConvGeometry& = {},
                                                     const ConvEpilogue& = {});
  RIDGE_API std::string text() const;     // "f32 32x64x56x56, 64 filters 3x3, pad 1"
  RIDGE_API std::string_view op() const;  // "conv2d", "conv_transpose1d"
};

class ConvPlan {
 public:
  // The views must be as planned: a transposed problem's too. workspace_bytes() of workspace are used.
  RIDGE_API Status run(const ConvTensors&, Workspace = {}, Stream = {}) const;
  RIDGE_API Status run_gradient(const ConvGradientTensors&, Workspace = {}, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return workspace; }

  ConvProblem problem;
  DeviceInfo device;
  int variant = 0;  // row of the table in variants.hpp
  int split = 1;    // split-K slices; backward: parts of the pixels in the filter gradient
  // For a forward row that goes along k in steps: the number of steps, those of a slice, and where the slices' sums
  // begin in the workspace.
  std::int64_t steps = 0, slice_steps = 0;
  std::size_t slices_at = 0;  // bytes
  std::size_t workspace = 0;  // bytes
  // For the row that runs by gemm's plans: the products of y, or of dx and dw, in this order.
  std::vector<GemmPlan> products = {};
  // For the rows that run by further plans: of channels-last tensors, or of dx and of dw.
  std::vector<ConvPlan> nested = {};
};

RIDGE_API Result<ConvPlan> plan_conv2d(const ConvProblem&, const DeviceInfo&, const PlanOptions& = {});

// The shape of y for an x and a w of these shapes, of 4 axes, of conv1d's 3 or of conv3d's 5, or why there is none.
RIDGE_API Result<std::vector<std::int64_t>> conv2d_shape(const ConvGeometry&, const Layout& x, const Layout& w);

// Plan (cached per problem and device) and run. Throw ridge::Error.
RIDGE_API void conv2d(const ConvTensors&, const ConvGeometry& = {}, const ConvEpilogue& = {}, Stream = {},
                      ConvMath = ConvMath::exact);
RIDGE_API void conv2d_gradient(const ConvGradientTensors&, const ConvGeometry& = {}, Stream = {});
// The same of views of 3 axes.
RIDGE_API void conv1d(const ConvTensors&, const ConvGeometry& = {}, const ConvEpilogue& = {}, Stream = {},
                      ConvMath = ConvMath::exact);
RIDGE_API void conv1d_gradient(const ConvGradientTensors&, const ConvGeometry& = {}, Stream = {});
// And of views of 5 axes.
RIDGE_API void conv3d(const ConvTensors&, const ConvGeometry& = {}, const ConvEpilogue& = {}, Stream = {},
                      ConvMath = ConvMath::exact);
RIDGE_API void conv3d_gradient(const ConvGradientTensors&, const ConvGeometry& = {}, Stream = {});

}  // namespace ridge
