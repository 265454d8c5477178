// upsample: images resized along h and w, as PyTorch's interpolate resizes them, and the gradient of that.
//
//   nearest        y[i, j] = x[floor(i h / oh), floor(j w / ow)]
//   nearest_exact  y[i, j] = x[floor((i + 1/2) h / oh), floor((j + 1/2) w / ow)]
//   bilinear       y[i, j] = the mean of the pixels of x around ((i + 1/2) h / oh - 1/2, (j + 1/2) w / ow - 1/2), two
//                  along each axis, weighted by how near they are; the outermost pixels continue beyond the edges.
//                  align_corners: around (i (h - 1) / (oh - 1), j (w - 1) / (ow - 1)), or pixel 0 where oh or ow is 1
//   gradient       dx[a, b] = the sum over all pixels of dy of dy[i, j] times the weight of x[a, b] in y[i, j]
//
// Shapes    x [n, c, h, w] and y [n, c, oh, ow], or with UpsampleLayout::nhwc x [n, h, w, c] and y [n, oh, ow, c]; dx
//           has the shape of x, dy that of y. oh and ow are the caller's, and may be smaller than h and w: no filter
//           goes before (antialias=False). By name they are the option `size`, or floor(h scale), floor(w scale); a
//           gradient has to be given h and w. Sides are below 2^30. Strides are free: contiguous rows (nchw) and
//           contiguous channels (nhwc) take the fast paths.
// Places    depend on the sizes alone, also where a scale was given: h / oh, not 1 / scale (PyTorch does so with
//           recompute_scale_factor=True). They are computed in integers, so they are exact at any size.
// Types     f32 f16 bf16; nearest and nearest_exact take i8 and u8 too, but have no gradient of these. y has the type
//           of x. Means and gradients are computed in float32 and rounded once. Weights are rounded to multiples of
//           2^-24, and those along an axis add up to 1.
// Values    A mean of equal pixels is that pixel (near the least normal number of float32 and below: within two units
//           in its last place), and no mean of finite pixels overflows. NaN and infinities reach the outputs that have
//           them among their pixels; a pixel of weight 0 is none of these (PyTorch multiplies it by 0). A sum of a
//           gradient that overflows float32 is infinite or NaN.
// Aliasing  y must not overlap x, nor dx dy.
// Empty     a y without pixels: nothing is launched, and dx is 0. A y with pixels of an x without any is refused.
// Repeats   bit for bit: a gradient gathers what each pixel gets, row by row, without atomics.
#pragma once
#include <ridge/core/memory.hpp>
#include <ridge/core/plan.hpp>
#include <ridge/core/tensor.hpp>

namespace ridge {

enum class Interpolation : std::uint8_t { nearest, nearest_exact, bilinear };
RIDGE_API std::string_view name(Interpolation);

enum class UpsampleLayout : std::uint8_t { nchw, nhwc };

struct Upsampling {
  Interpolation mode = Interpolation::nearest;
  bool align_corners = false;  // bilinear only
  UpsampleLayout layout = UpsampleLayout::nchw;
  bool operator==(const Upsampling&) const = default;
};

struct UpsampleProblem {
  Upsampling how;
  bool backward = false;
  DType dtype = DType::f32;
  Layout x, y;                     // [n, c, h, w] and [n, c, oh, ow], whatever `how.layout`; backward: of dx and of dy
  int align_x = 16, align_y = 16;  // alignment of the address in bytes, at most 16
  bool operator==(const UpsampleProblem&) const = default;

  // Contiguous, aligned tensors.
  RIDGE_API static Result<UpsampleProblem> contiguous(const Upsampling&, DType, std::int64_t n, std::int64_t c,
                                                      std::int64_t h, std::int64_t w, std::int64_t oh, std::int64_t ow);
  // The problem of these views. Refuses shapes or dtypes that do not match, and overlap.
  RIDGE_API static Result<UpsampleProblem> of(const Upsampling&, const TensorView& x, const TensorView& y);
  RIDGE_API static Result<UpsampleProblem> of_gradient(const Upsampling&, const TensorView& dy, const TensorView& dx);
  RIDGE_API std::string text() const;  // for explain()
};

class UpsamplePlan {
 public:
  // The views must be as planned.
  RIDGE_API Status run(const TensorView& x, const TensorView& y, Stream = {}) const;
  RIDGE_API Status run_gradient(const TensorView& dy, const TensorView& dx, Stream = {}) const;
  RIDGE_API Explanation explain() const;
  std::size_t workspace_bytes() const { return 0; }

  UpsampleProblem problem;
  DeviceInfo device;
  int variant = 0;        // row of the table in variants.hpp
  std::int64_t grid = 0;  // blocks
};

RIDGE_API Result<UpsamplePlan> plan_upsample(const UpsampleProblem&, const DeviceInfo&, const PlanOptions& = {});

// One line each: plan (cached per problem and device) and run. Throw ridge::Error.
RIDGE_API void upsample(const TensorView& x, const TensorView& y, const Upsampling& = {}, Stream = {});
RIDGE_API void upsample_gradient(const TensorView& dy, const TensorView& dx, const Upsampling& = {}, Stream = {});

}  // namespace ridge
