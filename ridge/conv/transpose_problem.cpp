// Validates a transposed convolution's tensors. In its problem x and y are those of the convolution that it transposes:
// x is the given y, and y the given x.
#include <ridge/conv/conv_transpose.hpp>
#include <ridge/conv/problem.hpp>
#include <ridge/conv/problem_checks.hpp>

namespace ridge {

using namespace conv_detail;

namespace {

// The least number of y's rows or columns: without output padding.
std::int64_t transposed_outputs(std::int64_t size, std::int64_t before, std::int64_t after, std::int64_t taps,
                                std::int64_t stride, std::int64_t dilation) {
  return (size - 1) * stride - before - after + extent_of(taps, dilation);
}
ConvPair transposed_outputs(const ConvGeometry& g, const Layout& x, const Layout& w) {
  return {transposed_outputs(x.shape[2], g.pad.top, g.pad.bottom, w.shape[2], g.stride.h, g.dilation.h),
          transposed_outputs(x.shape[3], g.pad.left, g.pad.right, w.shape[3], g.stride.w, g.dilation.w)};
}

// x and w in canonical order. What follows may compute with these numbers: no sum or product overflows.
Status check_transposed_numbers(std::string_view op, const ConvGeometry& g, const Layout& x, const Layout& w) {
  RIDGE_TRY(check_numbers(op, g, w));
  RIDGE_TRY(check_sides(op, "image", sides_of(x), 1));
  if (g.groups < 1 || x.shape[1] % g.groups != 0)
    return Status::invalid(op, "groups", std::to_string(g.groups),
                           "a divisor of the " + std::to_string(x.shape[1]) + " channels of x");
  if (w.shape[0] != x.shape[1])
    return Status::invalid(op, "w.shape", "of " + std::to_string(w.shape[0]) + " input channels",
                           "of as many as x has, " + std::to_string(x.shape[1]));
  RIDGE_TRY(check_count(op, "x", x));
  RIDGE_TRY(check_count(op, "w", w));
  return check_count(op, "y", {1, w.shape[1], g.groups, 1});
}

// The same, with y's rows and columns.
Status check_transposed_sizes(std::string_view op, const ConvGeometry& g, const Layout& x, const Layout& w,
                              ConvPair y) {
  if (std::min(y.h, y.w) < 1)
    return Status::invalid(op, "pad", "so much that y is " + text(op, {y.h, y.w}), "less: y has a pixel at least");
  RIDGE_TRY(check_sides(op, "y", {y.h, y.w}, 1));
  RIDGE_TRY(check_count(op, "y", {x.shape[0], w.shape[1] * g.groups, y.h, y.w}));
  return check_count(op, "groups", {x.shape[0], g.groups, y.h, y.w});
}

// A problem with the given x and w in canonical order, or an error.
Result<ConvProblem> transposed_image_and_filters(const ConvGeometry& g, const Layout& x, const Layout& w) {
  const int axes = x.rank == 3 ? 1 : 2;
  RIDGE_TRY(check_axes(name_of(axes, true), g, axes, x, w, "ck"));
  ConvProblem p{.geometry = g, .backward = true, .transposed = true, .axes = axes};
  p.y = canonical(x, g.layout);
  p.w = canonical(w, g.layout);
  RIDGE_TRY(check_transposed_numbers(p.op(), g, p.y, p.w));
  return p;
}

}  // namespace

Status conv_detail::check_transposed(const ConvProblem& p) {
  const std::string_view op = p.op();
  RIDGE_TRY(check_transposed_numbers(op, p.geometry, p.y, p.w));
  const ConvPair least = transposed_outputs(p.geometry, p.y, p.w);
  const ConvPair given{p.x.shape[2], p.x.shape[3]};
  RIDGE_TRY(check_transposed_sizes(op, p.geometry, p.y, p.w, given));
  const ConvPair more{given.h - least.h, given.w - least.w}, stride = p.geometry.stride;
  if (more.h < 0 || more.w < 0 || more.h >= stride.h || more.w >= stride.w)
    return Status::invalid(op, "output_pad", text(op, {more.h, more.w}),
                           "at least 0 and below the stride, " + text(op, {stride.h, stride.w}) + ": y is " +
                               text(op, {given.h, given.w}) + ", and without it " + text(op, {least.h, least.w}));
  return {};
}

Result<std::vector<std::int64_t>> conv_transpose2d_shape(const ConvGeometry& g, ConvPair output_pad, const Layout& x,
                                                         const Layout& w) {
  auto p = transposed_image_and_filters(g, x, w);
  if (!p) return p.error();
  const std::string_view op = p->op();
  if (std::min(output_pad.h, output_pad.w) < 0 || output_pad.h >= g.stride.h || output_pad.w >= g.stride.w)
    return Status::invalid(op, "output_pad", text(op, {output_pad.h, output_pad.w}),
                           "at least 0 and below the stride, " + text(op, {g.stride.h, g.stride.w}));
  const ConvPair least = transposed_outputs(g, p->y, p->w), y{least.h + output_pad.h, least.w + output_pad.w};
  RIDGE_TRY(check_transposed_sizes(op, g, p->y, p->w, y));
  return stored(g.layout, p->axes, p->y.shape[0], p->w.shape[1] * g.groups, {y.h, y.w});
}

Result<ConvProblem> ConvProblem::of_transposed(const ConvTensors& t, const ConvGeometry& g,
                                               const ConvEpilogue& epilogue) {
  auto p = transposed_image_and_filters(g, t.x.layout, t.w.layout);
  if (!p) return p;
  const std::string_view op = p->op();
  const TensorView* bias = view_if(t.bias);
  const TensorView* residual = view_if(t.residual);
  const std::int64_t channels = p->w.shape[1] * g.groups;
  if (t.y.rank() != t.x.rank()) return Status::invalid(op, "y.shape", t.y.layout.text(), "of as many axes as x");
  p->x = canonical(t.y.layout, g.layout);
  RIDGE_TRY(check_transposed(*p));
  RIDGE_TRY(check_shape(op, "y", t.y,
                        Layout::contiguous(stored(g.layout, p->axes, p->y.shape[0], channels, sides_of(p->x)))));
  if (bias) RIDGE_TRY(check_shape(op, "bias", *bias, Layout::contiguous({channels})));
  if (residual) RIDGE_TRY(check_shape(op, "residual", *residual, plain(t.y.layout)));
  RIDGE_TRY(check_together(op, t.x, {{"x", &t.x}, {"w", &t.w}, {"bias", bias}, {"residual", residual}}, {{"y", &t.y}},
                           residual));
  p->dtype = t.x.dtype;
  p->epilogue = epilogue;
  p->dx = p->x;
  if (bias) p->bias = bias->layout;
  if (residual) p->residual = canonical(residual->layout, g.layout);
  p->alignment = least_alignment({&t.x, &t.w, &t.y, bias, residual});
  return p;
}

}  // namespace ridge
