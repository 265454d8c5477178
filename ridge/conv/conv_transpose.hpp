// conv_transpose2d: the transposed convolution, which takes images of the size of a convolution's y to that of its x,
// as networks enlarge images. conv_transpose1d is the same of signals.
//
//   y[n, k, i stride_h - top + a dilation_h, j stride_w - left + b dilation_w] += x[n, c, i, j] w[c, k, a, b]
//
// over all c, i, j, a and b, and then y = act(y + bias[k]) + residual.
//
// Shapes    x [n, c, h, w], w [c, k / groups, r, s], y and residual [n, k, oh, ow], bias [k]; with ConvLayout::nhwc
//           x [n, h, w, c], w [c, r, s, k / groups], y [n, oh, ow, k]. w is that of the conv2d from y's images to x's.
//           oh = (h - 1) stride_h - top - bottom + (r - 1) dilation_h + 1 + the output padding, ow alike. The output
//           padding is what y's view has more than the least, below the stride: conv2d takes so many sizes to one.
//           Channels of x are in groups of neighbours, and each group makes its own channels of y.
//           conv_transpose1d: x [n, c, w], w [c, k / groups, s], y [n, k, ow]; with nhwc x [n, w, c],
//           w [c, s, k / groups], y [n, ow, k]; the geometry along h is left as it is.
//           Strides are free, alignment too.
// Types     f32 f16 bf16, one for all tensors. Sums, bias, activation and residual are float32, never TF32.
// Values    Where x has no element it is zero, multiplied like any number: a NaN or an infinity in w reaches every y
//           that its tap meets beyond x's border. relu(NaN) is NaN.
// Epilogue, aliasing, repeats: conv2d's (conv.hpp).
// Gradients are conv2d's: of x, conv2d of dy with w; of w, conv2d_gradient's dw, where dy is x and x is dy.
// Empty     No images or channels of y: nothing is launched. No channels of x: y is act(b) + residual. Images of x
//           have a row and a column at least, and so have those of y.
#pragma once
#include <ridge/conv/conv.hpp>

namespace ridge {

// The shape of y for an x and a w of these shapes, of 4 axes or of conv_transpose1d's 3, or why there is none.
RIDGE_API Result<std::vector<std::int64_t>> conv_transpose2d_shape(const ConvGeometry&, ConvPair output_pad,
                                                                   const Layout& x, const Layout& w);

// Plan (cached per problem and device) and run. Throw ridge::Error. For a plan to keep: ConvProblem::of_transposed(),
// plan_conv2d() and ConvPlan::run().
RIDGE_API void conv_transpose2d(const ConvTensors&, const ConvGeometry& = {}, const ConvEpilogue& = {}, Stream = {});
RIDGE_API void conv_transpose1d(const ConvTensors&, const ConvGeometry& = {}, const ConvEpilogue& = {}, Stream = {});

}  // namespace ridge
