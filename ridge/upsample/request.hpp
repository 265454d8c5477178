// A request by name: the options of the command line and of cases.
#pragma once
#include <ridge/core/options.hpp>
#include <ridge/upsample/upsample.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace ridge::upsample_detail {

inline constexpr std::int64_t side_limit = std::int64_t{1} << 30;  // sides are below it

template <class T> struct Pair {  // along h and along w
  T h{}, w{};
};
using Sides = Pair<std::int64_t>;

// "2" is 2 along both axes, "2,1" is 2 along h and 1 along w; nothing where the option is not given.
template <class T>
Result<std::optional<Pair<T>>> pair_of(const Options& options, std::string_view key, const char* constraint) {
  if (!options.has(key)) return std::optional<Pair<T>>();
  const std::string_view text = options.text(key);
  Pair<T> pair;
  const char* end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, pair.h);
  pair.w = pair.h;
  if (read.ec == std::errc{} && read.ptr != end && *read.ptr == ',') read = std::from_chars(read.ptr + 1, end, pair.w);
  if (read.ec == std::errc{} && read.ptr == end) return std::optional(pair);
  return Status::invalid("upsample", std::string(key), "'" + std::string(text) + "'", constraint);
}

// The sides of an image, and the other way round: [n, c, h, w] or [n, h, w, c]. Precondition: 4 axes.
inline Sides sides_of(UpsampleLayout layout, std::span<const std::int64_t> shape) {
  const int h = layout == UpsampleLayout::nchw ? 2 : 1;
  return {shape[h], shape[h + 1]};
}
inline std::vector<std::int64_t> with_sides(UpsampleLayout layout, std::span<const std::int64_t> shape, Sides sides) {
  std::vector<std::int64_t> other(shape.begin(), shape.begin() + 4);
  const int h = layout == UpsampleLayout::nchw ? 2 : 1;
  other[h] = sides.h;
  other[h + 1] = sides.w;
  return other;
}

struct Request {
  Upsampling how;
  bool backward = false;
  std::optional<Sides> size = {};
  std::optional<Pair<double>> scale = {};
  std::optional<std::int64_t> h = {}, w = {};  // of x

  // The sides of y for those of x. Precondition: size or scale is given.
  Result<Sides> outputs(Sides inputs) const {
    if (size) return *size;
    const Pair<double> exact{std::floor(static_cast<double>(inputs.h) * scale->h),
                             std::floor(static_cast<double>(inputs.w) * scale->w)};
    if (exact.h < static_cast<double>(side_limit) && exact.w < static_cast<double>(side_limit))
      return Sides{static_cast<std::int64_t>(exact.h), static_cast<std::int64_t>(exact.w)};
    return Status::invalid("upsample", "scale", "such that y has a side of 2^30 or more", "smaller");
  }
};

// mode= size= or scale= align_corners=0|1 layout=nchw|nhwc h= w= backward=0|1
inline Result<Request> request_of(const Options& options) {
  constexpr std::string_view op = "upsample";
  Request request;
  auto backward = options.flag(op, "backward");
  if (!backward) return backward.error();
  request.backward = *backward;
  const std::string_view mode = options.text("mode", "nearest"), layout = options.text("layout", "nchw");
  if (mode == "nearest") request.how.mode = Interpolation::nearest;
  else if (mode == "nearest_exact") request.how.mode = Interpolation::nearest_exact;
  else if (mode == "bilinear") request.how.mode = Interpolation::bilinear;
  else return Status::invalid(op, "mode", "'" + std::string(mode) + "'", "nearest, nearest_exact or bilinear");
  if (layout != "nchw" && layout != "nhwc")
    return Status::invalid(op, "layout", "'" + std::string(layout) + "'", "nchw or nhwc");
  request.how.layout = layout == "nhwc" ? UpsampleLayout::nhwc : UpsampleLayout::nchw;
  auto align_corners = options.flag(op, "align_corners");
  if (!align_corners) return align_corners.error();
  request.how.align_corners = *align_corners;

  auto size = pair_of<std::int64_t>(options, "size", "a whole number, or two as H,W");
  if (!size) return size.error();
  request.size = *size;
  if (*size && (std::min((*size)->h, (*size)->w) < 0 || std::max((*size)->h, (*size)->w) >= side_limit))
    return Status::invalid(op, "size", std::string(options.text("size")), "at least 0 and below 2^30");
  auto scale = pair_of<double>(options, "scale", "a number, or two as H,W");
  if (!scale) return scale.error();
  request.scale = *scale;
  if (*scale && !(std::isfinite((*scale)->h) && std::isfinite((*scale)->w) && (*scale)->h > 0 && (*scale)->w > 0))
    return Status::invalid(op, "scale", std::string(options.text("scale")), "above 0 and finite");
  if (*size && *scale) return Status::invalid(op, "scale", "given beside size", "the only one of the two");
  if (!*size && !*scale && !*backward) return Status::invalid(op, "size", "missing", "given, or else scale");

  for (auto [key, side] : {std::pair{"h", &request.h}, std::pair{"w", &request.w}}) {
    auto number = options.integer(op, key, 0);
    if (!number) return number.error();
    if (options.has(key)) *side = *number;
    else if (*backward) return Status::invalid(op, key, "missing", "given to a gradient: dy does not tell it");
    if (*number < 0 || *number >= side_limit)
      return Status::invalid(op, key, std::to_string(*number), "at least 0 and below 2^30");
  }
  return request;
}

}  // namespace ridge::upsample_detail
