// Validates a convolution's tensors: shapes, types, devices and overlap; a refusal is a sentence.
#include <ridge/conv/launch.hpp>
#include <ridge/conv/problem.hpp>
#include <ridge/conv/problem_checks.hpp>

#include <array>

namespace ridge {

using namespace conv_detail;

namespace {

Status check_geometry(std::string_view op, const ConvGeometry& g, const Layout& x, const Layout& w) {
  RIDGE_TRY(check_numbers(op, g, w));
  RIDGE_TRY(check_sides(op, "image", sides_of(x), 0));
  if (g.groups < 1 || x.shape[1] % g.groups != 0 || w.shape[0] % g.groups != 0)
    return Status::invalid(op, "groups", std::to_string(g.groups),
                           "a divisor of the " + std::to_string(x.shape[1]) + " channels and of the " +
                               std::to_string(w.shape[0]) + " filters");
  if (w.shape[1] != x.shape[1] / g.groups)
    return Status::invalid(op, "w.shape", "of " + std::to_string(w.shape[1]) + " channels",
                           "of as many as a group has, " + std::to_string(x.shape[1] / g.groups));
  const Sides extent{extent_of(w.shape[2], g.dilation.h), extent_of(w.shape[3], g.dilation.w),
                     extent_of(depth_of(w), g.depth.dilation)};
  const Sides padded{x.shape[2] + g.pad.top + g.pad.bottom, x.shape[3] + g.pad.left + g.pad.right,
                     depth_of(x) + g.depth.front + g.depth.back};
  if (extent.h > padded.h || extent.w > padded.w || extent.d > padded.d)
    return Status::invalid(op, "filter", "of extent " + text(op, extent),
                           "within the padded input, " + text(op, padded));
  const Sides y = outputs_of(g, x, w);
  RIDGE_TRY(check_count(op, "x", x));
  RIDGE_TRY(check_count(op, "w", w));
  RIDGE_TRY(check_count(op, "y", {x.shape[0], w.shape[0], y.h, y.w, y.d}));
  return check_count(op, "groups", {x.shape[0], g.groups, y.h, y.w, y.d});  // without channels they may be any number
}

// A problem with x and w in canonical order, or an error.
Result<ConvProblem> image_and_filters(const ConvGeometry& g, const Layout& x, const Layout& w) {
  const int axes = x.rank == 3 ? 1 : x.rank == 5 ? 3 : 2;
  const std::string_view op = name_of(axes, false);
  RIDGE_TRY(check_axes(op, g, axes, x, w, "kc"));
  ConvProblem p{.geometry = g, .axes = axes};
  p.x = canonical(x, g.layout);
  p.w = canonical(w, g.layout);
  RIDGE_TRY(check_geometry(op, g, p.x, p.w));
  return p;
}

std::vector<std::int64_t> output_shape(const ConvProblem& p) {
  return stored(p.geometry.layout, p.axes, p.x.shape[0], p.w.shape[0], outputs_of(p.geometry, p.x, p.w));
}

}  // namespace

std::string_view ConvProblem::op() const { return name_of(axes, transposed); }

Status conv_detail::validate(const ConvProblem& p) {
  const std::string_view op = p.op();
  if (!Types::contains(p.dtype))
    return Status::invalid(op, "x.dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  if (p.math != ConvMath::exact && p.dtype != f32)
    return Status::invalid(op, "math", "tf32", "exact, as x is " + std::string(name(p.dtype)) + ": tf32 is for f32");
  if (p.math != ConvMath::exact && p.backward)
    return Status::invalid(op, "math", "tf32", "exact: gradients are not computed in tf32");
  return p.transposed ? check_transposed(p) : check_geometry(op, p.geometry, p.x, p.w);
}

Result<std::vector<std::int64_t>> conv2d_shape(const ConvGeometry& g, const Layout& x, const Layout& w) {
  auto p = image_and_filters(g, x, w);
  if (!p) return p.error();
  return output_shape(*p);
}

Result<ConvProblem> ConvProblem::contiguous(DType dtype, const ConvGeometry& g, std::int64_t n, std::int64_t c,
                                            std::int64_t h, std::int64_t w, std::int64_t k, std::int64_t r,
                                            std::int64_t s, bool backward) {
  if (g.groups < 1) return Status::invalid("conv2d", "groups", std::to_string(g.groups), "at least 1");
  auto p = image_and_filters(g, Layout::contiguous(stored(g.layout, 2, n, c, {h, w})),
                             Layout::contiguous(stored(g.layout, 2, k, c / g.groups, {r, s})));
  if (!p) return p;
  p->dtype = dtype;
  p->backward = backward;
  p->y = canonical(Layout::contiguous(output_shape(*p)), g.layout);
  if (backward) p->dx = p->x;
  if (backward) p->dw = p->w;
  return p;
}

Result<ConvProblem> ConvProblem::of(const ConvTensors& t, const ConvGeometry& g, const ConvEpilogue& epilogue,
                                    ConvMath math) {
  auto p = image_and_filters(g, t.x.layout, t.w.layout);
  if (!p) return p;
  const std::string_view op = p->op();
  const Layout wanted = Layout::contiguous(output_shape(*p));
  const TensorView* bias = view_if(t.bias);
  const TensorView* residual = view_if(t.residual);
  RIDGE_TRY(check_shape(op, "y", t.y, wanted));
  if (bias) RIDGE_TRY(check_shape(op, "bias", *bias, Layout::contiguous({p->w.shape[0]})));
  if (residual) RIDGE_TRY(check_shape(op, "residual", *residual, wanted));
  RIDGE_TRY(check_together(op, t.x, {{"x", &t.x}, {"w", &t.w}, {"bias", bias}, {"residual", residual}}, {{"y", &t.y}},
                           residual));
  p->dtype = t.x.dtype;
  p->epilogue = epilogue;
  p->math = math;
  p->y = canonical(t.y.layout, g.layout);
  if (bias) p->bias = bias->layout;
  if (residual) p->residual = canonical(residual->layout, g.layout);
  p->alignment = least_alignment({&t.x, &t.w, &t.y, bias, residual});
  return p;
}

Result<ConvProblem> ConvProblem::of_gradient(const ConvGradientTensors& t, const ConvGeometry& g) {
  auto p = image_and_filters(g, t.x.layout, t.w.layout);
  if (!p) return p;
  const std::string_view op = p->op();
  const TensorView* dx = view_if(t.dx);
  const TensorView* dw = view_if(t.dw);
  if (!dx && !dw) return Status::invalid(op, "outputs", "none", "dx, dw or both");
  RIDGE_TRY(check_shape(op, "dy", t.dy, Layout::contiguous(output_shape(*p))));
  if (dx) RIDGE_TRY(check_shape(op, "dx", *dx, plain(t.x.layout)));
  if (dw) RIDGE_TRY(check_shape(op, "dw", *dw, plain(t.w.layout)));
  RIDGE_TRY(check_together(op, t.x, {{"dy", &t.dy}, {"x", &t.x}, {"w", &t.w}}, {{"dx", dx}, {"dw", dw}}));
  p->dtype = t.x.dtype;
  p->backward = true;
  p->y = canonical(t.dy.layout, g.layout);
  if (dx) p->dx = canonical(dx->layout, g.layout);
  if (dw) p->dw = canonical(dw->layout, g.layout);
  // Of what is touched: x is read for dw alone, and w for dx.
  p->alignment = least_alignment({&t.dy, dw ? &t.x : nullptr, dx ? &t.w : nullptr, dx, dw});
  return p;
}

std::string ConvProblem::text() const {
  const ConvGeometry& g = geometry;
  const auto shape = [&](const Layout& t) {
    return Layout::contiguous(stored(ConvLayout::nchw, axes, t.shape[0], t.shape[1], sides_of(t))).text();
  };
  std::string s = std::string(name(dtype)) + " " + (transposed ? shape(y) + " to " + shape(x) : shape(x));
  if (g.layout == ConvLayout::nhwc) s += axes == 1 ? " nwc" : axes == 2 ? " nhwc" : " ndhwc";
  s += ", ";
  if (!transposed) s += std::to_string(w.shape[0]) + " ";
  s += "filters " + conv_detail::text(axes, sides_of(w));
  const Sides stride{g.stride.h, g.stride.w, g.depth.stride}, dilation{g.dilation.h, g.dilation.w, g.depth.dilation};
  if (stride != Sides{1, 1}) s += ", stride " + conv_detail::text(axes, stride);
  if (dilation != Sides{1, 1}) s += ", dilation " + conv_detail::text(axes, dilation);
  if (g.pad != ConvPad{} || g.depth.front + g.depth.back > 0) {
    const std::int64_t before[] = {g.depth.front, g.pad.top, g.pad.left};
    const std::int64_t after[] = {g.depth.back, g.pad.bottom, g.pad.right};
    const char* comma = ", pad ";
    for (const auto* side : {before, after})
      for (int axis = 3 - axes; axis < 3; ++axis, comma = ",") s += comma + std::to_string(side[axis]);
  }
  if (g.groups != 1) s += ", " + std::to_string(g.groups) + " groups";
  if (bias) s += ", bias";
  if (epilogue.activation != Activation::none) s += ", " + std::string(name(epilogue.activation));
  if (residual) s += ", residual";
  if (math == ConvMath::tf32) s += ", tf32";
  if (!backward || transposed) return s;
  return s + (!dw ? ", backward of x" : !dx ? ", backward of w" : ", backward");
}

}  // namespace ridge
