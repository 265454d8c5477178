// A request by name: the options of the command line and of cases.
#pragma once
#include <ridge/core/options.hpp>
#include <ridge/core/whole_numbers.hpp>
#include <ridge/pool/pool.hpp>

#include <optional>

namespace ridge::pool_detail {

// "2" is 2 along both axes, "2,1" is 2 along h and 1 along w.
inline Result<PoolPair> pair_of(std::string_view op, const Options& options, std::string_view key, PoolPair otherwise) {
  if (!options.has(key)) return otherwise;
  const std::string_view text = options.text(key);
  const auto n = whole_numbers(text);
  if (!n || n->size() > 2)
    return Status::invalid(op, std::string(key), "'" + std::string(text) + "'", "a whole number, or two as H,W");
  return PoolPair{n->front(), n->back()};
}

// The same, and four numbers are the sides one by one.
inline Result<PoolPad> pad_of(std::string_view op, const Options& options) {
  const std::string_view text = options.text("pad", "0");
  const auto n = whole_numbers(text);
  if (!n || n->size() == 3 || n->size() > 4)
    return Status::invalid(op, "pad", "'" + std::string(text) + "'",
                           "a whole number, two as H,W, or four as TOP,LEFT,BOTTOM,RIGHT");
  if (n->size() == 4) return PoolPad{(*n)[0], (*n)[1], (*n)[2], (*n)[3]};
  return PoolPad{n->front(), n->back()};
}

struct Request {
  PoolWindow window;  // adaptive_avg: its size is that of y
  PoolLayout layout = PoolLayout::nchw;
  bool backward = false;
  std::optional<std::int64_t> h = {}, w = {};  // of x, which the gradient of a mean does not see
};

inline Result<PoolLayout> layout_of(std::string_view op, const Options& options) {
  const std::string_view layout = options.text("layout", "nchw");
  if (layout != "nchw" && layout != "nhwc")
    return Status::invalid(op, "layout", "'" + std::string(layout) + "'", "nchw or nhwc");
  return layout == "nhwc" ? PoolLayout::nhwc : PoolLayout::nchw;
}

// r= s= stride= pad= dilation= ceil_mode=0|1 count_include_pad=0|1
inline Result<PoolWindow> window_of(std::string_view op, const Options& options) {
  PoolWindow window;
  if (!options.has("r")) return Status::invalid(op, "r", "missing", "given: the window's rows");
  auto r = options.integer(op, "r", 1);
  if (!r) return r.error();
  auto s = options.integer(op, "s", *r);
  if (!s) return s.error();
  window.size = {*r, *s};
  auto stride = pair_of(op, options, "stride", {1, 1}), dilation = pair_of(op, options, "dilation", {1, 1});
  for (const auto* pair : {&stride, &dilation})
    if (!*pair) return pair->error();
  auto pad = pad_of(op, options);
  if (!pad) return pad.error();
  auto ceil_mode = options.flag(op, "ceil_mode");
  if (!ceil_mode) return ceil_mode.error();
  window.stride = *stride;
  window.pad = *pad;
  window.dilation = *dilation;
  window.ceil_mode = *ceil_mode;
  const std::string_view include = options.text("count_include_pad", "1");
  if (include != "0" && include != "1")
    return Status::invalid(op, "count_include_pad", "'" + std::string(include) + "'", "0 or 1");
  window.count_include_pad = include == "1";
  return window;
}

// size=
inline Result<PoolWindow> adaptive_window_of(std::string_view op, const Options& options) {
  if (!options.has("size")) return Status::invalid(op, "size", "missing", "given: the rows and columns of y");
  auto size = pair_of(op, options, "size", {});
  if (!size) return size.error();
  return PoolWindow{.size = *size};
}

// h= w=: rows and columns of x
inline Result<std::optional<std::int64_t>> size_of_x(std::string_view op, const Options& options,
                                                     std::string_view key) {
  if (!options.has(key)) return std::optional<std::int64_t>();
  auto given = options.integer(op, key, 0);
  if (!given) return given.error();
  if (*given < 0 || *given > most_elements)
    return Status::invalid(op, std::string(key), std::to_string(*given), "from 0 to 2^56");
  return std::optional(*given);
}

inline Result<Request> request_of(Pool function, const Options& options) {
  const std::string_view op = name(function);
  auto window = function == Pool::adaptive_avg ? adaptive_window_of(op, options) : window_of(op, options);
  if (!window) return window.error();
  auto layout = layout_of(op, options);
  if (!layout) return layout.error();
  auto backward = options.flag(op, "backward");
  if (!backward) return backward.error();
  auto h = size_of_x(op, options, "h"), w = size_of_x(op, options, "w");
  for (const auto* size : {&h, &w})
    if (!*size) return size->error();
  return Request{*window, *layout, *backward, *h, *w};
}

}  // namespace ridge::pool_detail
