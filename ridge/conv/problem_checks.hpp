// What checks of a convolution's tensors and of a transposed one's share: canonical layouts and refusals.
#pragma once
#include <ridge/conv/problem.hpp>
#include <ridge/core/check_data.hpp>
#include <ridge/core/plan_checks.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::conv_detail {

// Numbers along the axes of an image; along d those of a volume.
struct Sides {
  std::int64_t h, w, d = 1;
  bool operator==(const Sides&) const = default;
};

// The numbers of as many axes as an operator's images have.
inline std::string text(int axes, const Sides& s) {
  std::string all = std::to_string(s.w);
  if (axes > 1) all = std::to_string(s.h) + "x" + all;
  return axes > 2 ? std::to_string(s.d) + "x" + all : all;
}
inline std::string text(std::string_view op, const Sides& s) {
  return text(op.ends_with("1d") ? 1 : op.ends_with("2d") ? 2 : 3, s);
}

constexpr std::string_view name_of(int axes, bool transposed) {
  if (axes == 1) return transposed ? "conv_transpose1d" : "conv1d";
  if (axes == 3) return "conv3d";
  return transposed ? "conv_transpose2d" : "conv2d";
}

// Axes in the order n, c, h, w (or k, c, r, s), and d (or t) behind them, whatever the layout; a signal is an image of
// one row. Precondition: 3, 4 or 5 axes.
inline Layout canonical(Layout given, ConvLayout layout) {
  for (auto axis = static_cast<std::size_t>(given.rank); axis < max_rank; ++axis)
    given.shape[axis] = given.stride[axis] = 0;
  Layout t = given;
  const auto take = [&](std::initializer_list<std::size_t> from) {
    std::size_t axis = 0;
    for (const std::size_t i : from) {
      t.shape[axis] = given.shape[i];
      t.stride[axis++] = given.stride[i];
    }
  };
  const bool nchw = layout == ConvLayout::nchw;
  if (given.rank == 5) {
    take(nchw ? std::initializer_list<std::size_t>{0, 1, 3, 4, 2} : std::initializer_list<std::size_t>{0, 4, 2, 3, 1});
    return t;
  }
  if (given.rank == 4) {
    if (!nchw) take({0, 3, 1, 2});
    return t;
  }
  take(nchw ? std::initializer_list<std::size_t>{0, 1, 2, 2} : std::initializer_list<std::size_t>{0, 2, 1, 1});
  t.rank = 4;
  t.shape[2] = 1;
  if (__builtin_mul_overflow(t.stride[3], t.shape[3], &t.stride[2])) t.stride[2] = 0;  // where a row would follow
  return t;
}

// The shape in the order in which it is stored.
inline std::vector<std::int64_t> stored(ConvLayout layout, int axes, std::int64_t n, std::int64_t c, const Sides& s) {
  std::vector<std::int64_t> shape{n};
  if (axes > 2) shape.push_back(s.d);
  if (axes > 1) shape.push_back(s.h);
  shape.push_back(s.w);
  shape.insert(layout == ConvLayout::nhwc ? shape.end() : shape.begin() + 1, c);
  return shape;
}

inline std::int64_t extent_of(std::int64_t taps, std::int64_t dilation) { return (taps - 1) * dilation + 1; }

// The number of y's rows or columns. Preconditions: as checked by check_geometry().
inline std::int64_t outputs_of(std::int64_t size, std::int64_t before, std::int64_t after, std::int64_t taps,
                               std::int64_t stride, std::int64_t dilation) {
  return (size + before + after - extent_of(taps, dilation)) / stride + 1;
}

// y's sides.
inline Sides outputs_of(const ConvGeometry& g, const Layout& x, const Layout& w) {
  return {outputs_of(x.shape[2], g.pad.top, g.pad.bottom, w.shape[2], g.stride.h, g.dilation.h),
          outputs_of(x.shape[3], g.pad.left, g.pad.right, w.shape[3], g.stride.w, g.dilation.w),
          outputs_of(depth_of(x), g.depth.front, g.depth.back, depth_of(w), g.depth.stride, g.depth.dilation)};
}

// No sum of a few of them, and no product of two, overflows.
inline constexpr std::int64_t most_of_a_side = std::int64_t{1} << 30;

inline Status check_sides(std::string_view op, const char* key, const Sides& s, std::int64_t least) {
  if (std::min({s.h, s.w, s.d}) >= least && std::max({s.h, s.w, s.d}) < most_of_a_side) return {};
  return Status::invalid(op, key, text(op, s), "at least " + std::to_string(least) + " and below 2^30");
}

inline Sides sides_of(const Layout& t) { return {t.shape[2], t.shape[3], depth_of(t)}; }

inline Status check_numbers(std::string_view op, const ConvGeometry& g, const Layout& w) {
  RIDGE_TRY(check_sides(op, "stride", {g.stride.h, g.stride.w, g.depth.stride}, 1));
  RIDGE_TRY(check_sides(op, "dilation", {g.dilation.h, g.dilation.w, g.depth.dilation}, 1));
  RIDGE_TRY(check_sides(op, "pad", {g.pad.top, g.pad.left, g.depth.front}, 0));
  RIDGE_TRY(check_sides(op, "pad", {g.pad.bottom, g.pad.right, g.depth.back}, 0));
  return check_sides(op, "filter", sides_of(w), 1);
}

inline Status check_count(std::string_view op, const char* label, std::initializer_list<std::int64_t> shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape)
    if (__builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count) || count > (std::int64_t{1} << 60))
      return Status::invalid(op, label, "of more than 2^60 elements", "smaller");
  return {};
}
inline Status check_count(std::string_view op, const char* label, const Layout& t) {
  return check_count(op, label, {t.shape[0], t.shape[1], t.shape[2], t.shape[3], depth_of(t)});
}

// Checks the axes of the tensors, and that a signal has nothing along h, and none but a volume anything along d.
// filters: the names of w's first two axes.
inline Status check_axes(std::string_view op, const ConvGeometry& g, int axes, const Layout& x, const Layout& w,
                         std::string_view filters) {
  const auto check = [&](const char* key, const Layout& t, std::string_view first, std::string_view sides) -> Status {
    if (t.rank == axes + 2) return {};
    const bool last = g.layout == ConvLayout::nhwc;
    std::string names(first.substr(0, 1));
    const std::string channels{' ', first.back()};
    for (const char side : sides) names += std::string{' ', side};
    names.insert(last ? names.size() : 1, channels);
    return Status::invalid(op, key, t.text(), "of " + std::to_string(axes + 2) + " axes, " + names);
  };
  const auto sides = static_cast<std::size_t>(3 - axes);
  RIDGE_TRY(check("x.shape", x, "nc", std::string_view("dhw").substr(sides)));
  RIDGE_TRY(check("w.shape", w, filters, std::string_view("trs").substr(sides)));
  const auto along = [&](char axis, int from, const char* key, std::int64_t given, std::int64_t wanted) -> Status {
    if (axes >= from || given == wanted) return {};
    return Status::invalid(op, key, std::to_string(given) + " along " + axis,
                           std::to_string(wanted) + ": x has no " + axis);
  };
  RIDGE_TRY(along('h', 2, "stride", g.stride.h, 1));
  RIDGE_TRY(along('h', 2, "dilation", g.dilation.h, 1));
  RIDGE_TRY(along('h', 2, "pad", g.pad.top, 0));
  RIDGE_TRY(along('h', 2, "pad", g.pad.bottom, 0));
  RIDGE_TRY(along('d', 3, "stride", g.depth.stride, 1));
  RIDGE_TRY(along('d', 3, "dilation", g.depth.dilation, 1));
  RIDGE_TRY(along('d', 3, "pad", g.depth.front, 0));
  return along('d', 3, "pad", g.depth.back, 0);
}

struct Named {
  const char* name;
  const TensorView* view;
};

// Checks that inputs and outputs share dtype and device, and do not overlap. An output may be the input `same`.
inline Status check_together(std::string_view op, const TensorView& x, std::initializer_list<Named> inputs,
                             std::initializer_list<Named> outputs, const TensorView* same = nullptr) {
  for (const auto& list : {inputs, outputs})
    for (const auto& [label, view] : list) {
      if (!view) continue;
      if (view->dtype != x.dtype)
        return Status::invalid(op, std::string(label) + ".dtype", std::string(name(view->dtype)),
                               "that of x, " + std::string(name(x.dtype)));
      RIDGE_TRY(check_same_device(op, label, view->device, "x", x.device));
    }
  for (auto out = outputs.begin(); out != outputs.end(); ++out) {
    if (!out->view) continue;
    for (const Named& in : inputs) {
      if (!in.view || (in.view == same && same_elements(*same, *out->view))) continue;
      RIDGE_TRY(check_no_overlap(op, out->name, *out->view, in.name, *in.view));
    }
    for (auto other = outputs.begin(); other != out; ++other)
      if (other->view) RIDGE_TRY(check_no_overlap(op, out->name, *out->view, other->name, *other->view));
    RIDGE_TRY(check_elements_apart(op, out->name, out->view->layout));
  }
  return {};
}

inline Status check_shape(std::string_view op, const char* label, const TensorView& view, const Layout& wanted) {
  if (view.layout.same_shape(wanted)) return {};
  return Status::invalid(op, std::string(label) + ".shape", view.layout.text(), wanted.text());
}

inline int least_alignment(std::initializer_list<const TensorView*> views) {
  int least = 16;
  for (const TensorView* view : views)
    if (view) least = std::min(least, alignment_of(view->data));
  return least;
}

inline Layout plain(const Layout& like) {
  return Layout::contiguous(std::span(like.shape.data(), static_cast<std::size_t>(like.rank)));
}

inline const TensorView* view_if(const std::optional<TensorView>& view) { return view ? &*view : nullptr; }

}  // namespace ridge::conv_detail
