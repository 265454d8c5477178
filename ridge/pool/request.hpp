// A request by name: the options of the command line and of cases.
#pragma once
#include <ridge/core/options.hpp>
#include <ridge/pool/pool.hpp>

#include <charconv>

namespace ridge::pool_detail {

// "2" is 2 along both axes, "2,1" is 2 along h and 1 along w.
inline Result<PoolPair> pair_of(std::string_view op, const Options& options, std::string_view key, PoolPair otherwise) {
  if (!options.has(key)) return otherwise;
  const std::string_view text = options.text(key);
  const auto wrong = [&] {
    return Status::invalid(op, std::string(key), "'" + std::string(text) + "'", "a whole number, or two as H,W");
  };
  PoolPair pair;
  const char* end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, pair.h);
  pair.w = pair.h;
  if (read.ec == std::errc{} && read.ptr != end && *read.ptr == ',') read = std::from_chars(read.ptr + 1, end, pair.w);
  if (read.ec != std::errc{} || read.ptr != end) return wrong();
  return pair;
}

struct Request {
  PoolWindow window;
  PoolLayout layout = PoolLayout::nchw;
};

// r= s= stride= pad= dilation= layout=nchw|nhwc count_include_pad=0|1
inline Result<Request> request_of(Pool function, const Options& options) {
  const std::string_view op = name(function);
  Request request;
  if (!options.has("r")) return Status::invalid(op, "r", "missing", "given: the window's rows");
  auto r = options.integer(op, "r", 1);
  if (!r) return r.error();
  auto s = options.integer(op, "s", *r);
  if (!s) return s.error();
  request.window.size = {*r, *s};
  auto stride = pair_of(op, options, "stride", {1, 1}), pad = pair_of(op, options, "pad", {0, 0}),
       dilation = pair_of(op, options, "dilation", {1, 1});
  for (const auto* pair : {&stride, &pad, &dilation})
    if (!*pair) return pair->error();
  request.window.stride = *stride;
  request.window.pad = *pad;
  request.window.dilation = *dilation;
  const std::string_view layout = options.text("layout", "nchw"), include = options.text("count_include_pad", "1");
  if (layout != "nchw" && layout != "nhwc")
    return Status::invalid(op, "layout", "'" + std::string(layout) + "'", "nchw or nhwc");
  request.layout = layout == "nhwc" ? PoolLayout::nhwc : PoolLayout::nchw;
  if (include != "0" && include != "1")
    return Status::invalid(op, "count_include_pad", "'" + std::string(include) + "'", "0 or 1");
  request.window.count_include_pad = include == "1";
  return request;
}

}  // namespace ridge::pool_detail
