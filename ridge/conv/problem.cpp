// Validates conv2d's tensors: shapes, types, devices and overlap; a refusal is a sentence.
#include <ridge/conv/launch.hpp>
#include <ridge/conv/problem.hpp>
#include <ridge/core/check_data.hpp>
#include <ridge/core/plan_checks.hpp>

#include <algorithm>
#include <array>

namespace ridge {

using namespace conv_detail;

static constexpr std::string_view op = "conv2d";

namespace {

std::string text(std::int64_t a, std::int64_t b) { return std::to_string(a) + "x" + std::to_string(b); }

// Axes in the order n, c, h, w (or k, c, r, s), whatever the layout.
Layout canonical(const Layout& given, ConvLayout layout) {
  if (layout == ConvLayout::nchw) return given;
  Layout t = given;
  constexpr std::array from{0, 3, 1, 2};
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    t.shape[axis] = given.shape[static_cast<std::size_t>(from[axis])];
    t.stride[axis] = given.stride[static_cast<std::size_t>(from[axis])];
  }
  return t;
}

std::vector<std::int64_t> stored(ConvLayout layout, std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w) {
  if (layout == ConvLayout::nhwc) return {n, h, w, c};
  return {n, c, h, w};
}

// The number of y's rows or columns. Preconditions: as checked by check_geometry().
std::int64_t outputs_of(std::int64_t size, std::int64_t before, std::int64_t after, std::int64_t taps,
                        std::int64_t stride, std::int64_t dilation) {
  return (size + before + after - ((taps - 1) * dilation + 1)) / stride + 1;
}

Status check_geometry(const ConvGeometry& g, const Layout& x, const Layout& w) {
  constexpr std::int64_t most = std::int64_t{1} << 30;  // no sum of a few of them, and no product of two, overflows
  const auto check = [&](const char* key, std::int64_t a, std::int64_t b, std::int64_t least) -> Status {
    if (std::min(a, b) >= least && std::max(a, b) < most) return {};
    return Status::invalid(op, key, text(a, b), "at least " + std::to_string(least) + " and below 2^30");
  };
  RIDGE_TRY(check("stride", g.stride.h, g.stride.w, 1));
  RIDGE_TRY(check("dilation", g.dilation.h, g.dilation.w, 1));
  RIDGE_TRY(check("pad", g.pad.top, g.pad.left, 0));
  RIDGE_TRY(check("pad", g.pad.bottom, g.pad.right, 0));
  RIDGE_TRY(check("filter", w.shape[2], w.shape[3], 1));
  RIDGE_TRY(check("image", x.shape[2], x.shape[3], 0));
  if (g.groups < 1 || x.shape[1] % g.groups != 0 || w.shape[0] % g.groups != 0)
    return Status::invalid(op, "groups", std::to_string(g.groups),
                           "a divisor of the " + std::to_string(x.shape[1]) + " channels and of the " +
                               std::to_string(w.shape[0]) + " filters");
  if (w.shape[1] != x.shape[1] / g.groups)
    return Status::invalid(op, "w.shape", "of " + std::to_string(w.shape[1]) + " channels",
                           "of as many as a group has, " + std::to_string(x.shape[1] / g.groups));
  const std::int64_t extent_h = (w.shape[2] - 1) * g.dilation.h + 1, extent_w = (w.shape[3] - 1) * g.dilation.w + 1;
  const std::int64_t padded_h = x.shape[2] + g.pad.top + g.pad.bottom, padded_w = x.shape[3] + g.pad.left + g.pad.right;
  if (extent_h > padded_h || extent_w > padded_w)
    return Status::invalid(op, "filter", "of extent " + text(extent_h, extent_w),
                           "within the padded input, " + text(padded_h, padded_w));
  const std::int64_t oh = outputs_of(x.shape[2], g.pad.top, g.pad.bottom, w.shape[2], g.stride.h, g.dilation.h);
  const std::int64_t ow = outputs_of(x.shape[3], g.pad.left, g.pad.right, w.shape[3], g.stride.w, g.dilation.w);
  const auto check_count = [](const char* label, const std::array<std::int64_t, 4>& shape) -> Status {
    std::int64_t count = 1;
    for (const std::int64_t size : shape)
      if (__builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count) || count > (std::int64_t{1} << 60))
        return Status::invalid(op, label, "of more than 2^60 elements", "smaller");
    return {};
  };
  RIDGE_TRY(check_count("x", {x.shape[0], x.shape[1], x.shape[2], x.shape[3]}));
  RIDGE_TRY(check_count("w", {w.shape[0], w.shape[1], w.shape[2], w.shape[3]}));
  RIDGE_TRY(check_count("y", {x.shape[0], w.shape[0], oh, ow}));
  RIDGE_TRY(check_count("groups", {x.shape[0], g.groups, oh, ow}));  // without channels they may be any number
  return {};
}

// A problem with x and w in canonical order, or an error.
Result<ConvProblem> image_and_filters(const ConvGeometry& g, const Layout& x, const Layout& w) {
  const bool nchw = g.layout == ConvLayout::nchw;
  if (x.rank != 4) return Status::invalid(op, "x.shape", x.text(), nchw ? "of 4 axes, n c h w" : "of 4 axes, n h w c");
  if (w.rank != 4) return Status::invalid(op, "w.shape", w.text(), nchw ? "of 4 axes, k c r s" : "of 4 axes, k r s c");
  ConvProblem p{.geometry = g};
  p.x = canonical(x, g.layout);
  p.w = canonical(w, g.layout);
  RIDGE_TRY(check_geometry(g, p.x, p.w));
  return p;
}

std::vector<std::int64_t> output_shape(const ConvProblem& p) {
  const ConvGeometry& g = p.geometry;
  return stored(g.layout, p.x.shape[0], p.w.shape[0],
                outputs_of(p.x.shape[2], g.pad.top, g.pad.bottom, p.w.shape[2], g.stride.h, g.dilation.h),
                outputs_of(p.x.shape[3], g.pad.left, g.pad.right, p.w.shape[3], g.stride.w, g.dilation.w));
}

struct Named {
  const char* name;
  const TensorView* view;
};

// Checks that inputs and outputs share dtype and device, and do not overlap. An output may be the input `same`.
Status check_together(const TensorView& x, std::initializer_list<Named> inputs, std::initializer_list<Named> outputs,
                      const TensorView* same = nullptr) {
  for (const auto& list : {inputs, outputs})
    for (const auto& [label, view] : list) {
      if (!view) continue;
      if (view->dtype != x.dtype)
        return Status::invalid(op, std::string(label) + ".dtype", std::string(name(view->dtype)),
                               "that of x, " + std::string(name(x.dtype)));
      RIDGE_TRY(check_same_device(op, label, view->device, "x", x.device));
    }
  for (auto out = outputs.begin(); out != outputs.end(); ++out) {
    for (const Named& in : inputs) {
      if (!in.view || (in.view == same && same_elements(*same, *out->view))) continue;
      RIDGE_TRY(check_no_overlap(op, out->name, *out->view, in.name, *in.view));
    }
    for (auto other = outputs.begin(); other != out; ++other)
      RIDGE_TRY(check_no_overlap(op, out->name, *out->view, other->name, *other->view));
    RIDGE_TRY(check_elements_apart(op, out->name, out->view->layout));
  }
  return {};
}

Status check_shape(const char* label, const TensorView& view, const Layout& wanted) {
  if (view.layout.same_shape(wanted)) return {};
  return Status::invalid(op, std::string(label) + ".shape", view.layout.text(), wanted.text());
}

int least_alignment(std::initializer_list<const TensorView*> views) {
  int least = 16;
  for (const TensorView* view : views)
    if (view) least = std::min(least, alignment_of(view->data));
  return least;
}

Layout plain(const Layout& like) {
  return Layout::contiguous(std::span(like.shape.data(), static_cast<std::size_t>(like.rank)));
}

}  // namespace

Status conv_detail::validate(const ConvProblem& p) {
  if (!Types::contains(p.dtype))
    return Status::invalid(op, "x.dtype", std::string(name(p.dtype)), "one of f32 f16 bf16");
  if (p.math != ConvMath::exact && p.dtype != f32)
    return Status::invalid(op, "math", "tf32", "exact, as x is " + std::string(name(p.dtype)) + ": tf32 is for f32");
  if (p.math != ConvMath::exact && p.backward)
    return Status::invalid(op, "math", "tf32", "exact: gradients are not computed in tf32");
  return check_geometry(p.geometry, p.x, p.w);
}

Result<std::vector<std::int64_t>> conv2d_shape(const ConvGeometry& g, const Layout& x, const Layout& w) {
  auto p = image_and_filters(g, x, w);
  if (!p) return p.error();
  return output_shape(*p);
}

Result<ConvProblem> ConvProblem::contiguous(DType dtype, const ConvGeometry& g, std::int64_t n, std::int64_t c,
                                            std::int64_t h, std::int64_t w, std::int64_t k, std::int64_t r,
                                            std::int64_t s, bool backward) {
  if (g.groups < 1) return Status::invalid(op, "groups", std::to_string(g.groups), "at least 1");
  auto p = image_and_filters(g, Layout::contiguous(stored(g.layout, n, c, h, w)),
                             Layout::contiguous(stored(g.layout, k, c / g.groups, r, s)));
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
  const Layout wanted = Layout::contiguous(output_shape(*p));
  const TensorView* bias = t.bias ? &*t.bias : nullptr;
  const TensorView* residual = t.residual ? &*t.residual : nullptr;
  RIDGE_TRY(check_shape("y", t.y, wanted));
  if (bias) RIDGE_TRY(check_shape("bias", *bias, Layout::contiguous({p->w.shape[0]})));
  if (residual) RIDGE_TRY(check_shape("residual", *residual, wanted));
  RIDGE_TRY(
      check_together(t.x, {{"x", &t.x}, {"w", &t.w}, {"bias", bias}, {"residual", residual}}, {{"y", &t.y}}, residual));
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
  RIDGE_TRY(check_shape("dy", t.dy, Layout::contiguous(output_shape(*p))));
  RIDGE_TRY(check_shape("dx", t.dx, plain(t.x.layout)));
  RIDGE_TRY(check_shape("dw", t.dw, plain(t.w.layout)));
  RIDGE_TRY(check_together(t.x, {{"dy", &t.dy}, {"x", &t.x}, {"w", &t.w}}, {{"dx", &t.dx}, {"dw", &t.dw}}));
  p->dtype = t.x.dtype;
  p->backward = true;
  p->y = canonical(t.dy.layout, g.layout);
  p->dx = canonical(t.dx.layout, g.layout);
  p->dw = canonical(t.dw.layout, g.layout);
  p->alignment = least_alignment({&t.dy, &t.x, &t.w, &t.dx, &t.dw});
  return p;
}

std::string ConvProblem::text() const {
  const ConvGeometry& g = geometry;
  std::string s = std::string(name(dtype)) + " " + Layout::contiguous(std::span(x.shape.data(), 4)).text() +
                  (g.layout == ConvLayout::nhwc ? " nhwc, " : ", ") + std::to_string(w.shape[0]) + " filters " +
                  ridge::text(w.shape[2], w.shape[3]);
  if (g.stride != ConvPair{}) s += ", stride " + ridge::text(g.stride.h, g.stride.w);
  if (g.dilation != ConvPair{}) s += ", dilation " + ridge::text(g.dilation.h, g.dilation.w);
  if (g.pad != ConvPad{})
    s += ", pad " + std::to_string(g.pad.top) + "," + std::to_string(g.pad.left) + "," + std::to_string(g.pad.bottom) +
         "," + std::to_string(g.pad.right);
  if (g.groups != 1) s += ", " + std::to_string(g.groups) + " groups";
  if (bias) s += ", bias";
  if (epilogue.activation != Activation::none) s += ", " + std::string(name(epilogue.activation));
  if (residual) s += ", residual";
  if (math == ConvMath::tf32) s += ", tf32";
  return s + (backward ? ", backward" : "");
}

}  // namespace ridge
