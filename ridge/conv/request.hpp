// A request by name: the operator, the options of the command line and of cases, and the tensors that they need.
#pragma once
#include <ridge/conv/conv.hpp>
#include <ridge/core/options.hpp>
#include <ridge/core/whole_numbers.hpp>

#include <array>

namespace ridge::conv_detail {

struct Request {
  std::string_view op;  // conv1d, conv2d, conv3d, conv_transpose1d or conv_transpose2d
  int axes = 2;         // of an image
  bool transposed = false;
  ConvGeometry geometry = {};
  ConvPair output_pad = {0, 0};  // of a transposed one
  ConvEpilogue epilogue = {};
  ConvMath math = ConvMath::exact;
  bool bias = false, residual = false, backward = false;

  std::vector<std::string_view> inputs() const {
    if (backward) return {"dy", "x", "w"};
    std::vector<std::string_view> names{"x", "w"};
    if (bias) names.push_back("bias");
    if (residual) names.push_back("residual");
    return names;
  }
};

// Reads a request's options, key by key. stride= dilation= output_pad= (n or h,w)  pad= (n or h,w or
// top,left,bottom,right)  groups=  layout=nchw|nhwc  epilogue=bias+ACTIVATION+residual, in the order in which they are
// applied  math=exact|tf32  backward=0|1. Of signals: stride= dilation= output_pad= n  pad= (n or left,right)
// layout=ncw|nwc. Of volumes: stride= dilation= (n or d,h,w)  pad= (n, d,h,w or front,top,left,back,bottom,right)
// layout=ncdhw|ndhwc.
class RequestReader {
 public:
  RequestReader(std::string_view op, const Options& options) : options_(options), r_{.op = op} {
    r_.axes = op.ends_with("1d") ? 1 : op.ends_with("2d") ? 2 : 3;
    r_.transposed = op.starts_with("conv_transpose");
  }
  Result<Request> read() {
    std::int64_t no_depth = 0;
    RIDGE_TRY(read_sides("stride", r_.geometry.stride, r_.geometry.depth.stride));
    RIDGE_TRY(read_sides("dilation", r_.geometry.dilation, r_.geometry.depth.dilation));
    RIDGE_TRY(read_sides("output_pad", r_.output_pad, no_depth));
    RIDGE_TRY(read_pad());
    auto groups = options_.integer(r_.op, "groups", 1);
    if (!groups) return groups.error();
    r_.geometry.groups = *groups;
    const std::string_view inner = r_.axes == 1 ? "ncw" : r_.axes == 2 ? "nchw" : "ncdhw";
    const std::string_view last = r_.axes == 1 ? "nwc" : r_.axes == 2 ? "nhwc" : "ndhwc";
    const std::string_view layout = options_.text("layout", inner);
    if (layout != inner && layout != last) return wrong("layout", std::string(inner) + " or " + std::string(last));
    r_.geometry.layout = layout == last ? ConvLayout::nhwc : ConvLayout::nchw;
    const std::string_view math = options_.text("math", "exact");
    if (math != "exact" && math != "tf32") return wrong("math", "exact or tf32");
    r_.math = math == "tf32" ? ConvMath::tf32 : ConvMath::exact;
    auto backward = options_.flag(r_.op, "backward");
    if (!backward) return backward.error();
    r_.backward = *backward;
    RIDGE_TRY(read_epilogue());
    for (const char* key : {"epilogue", "math"})
      if (r_.backward && options_.has(key)) return wrong(key, "left out in a backward request");
    return r_;
  }

 private:
  Status wrong(std::string_view key, std::string allowed) const {
    return Status::invalid(r_.op, std::string(key), "'" + std::string(options_.text(key)) + "'", std::move(allowed));
  }
  // A number for each axis of an image, or one for all. Leaves `to` and `depth` as they are without the option; along
  // axes that an image does not have too.
  Status read_sides(std::string_view key, ConvPair& to, std::int64_t& depth) const {
    if (!options_.has(key)) return {};
    const auto n = whole_numbers(options_.text(key));
    const auto all = static_cast<std::size_t>(r_.axes);
    if (!n || (n->size() != 1 && n->size() != all))
      return wrong(key, r_.axes == 1   ? "a whole number"
                        : r_.axes == 2 ? "a whole number, or two as H,W"
                                       : "a whole number, or three as D,H,W");
    to.w = n->back();
    if (r_.axes > 1) to.h = n->size() == 1 ? n->front() : *(n->end() - 2);
    if (r_.axes > 2) depth = n->front();
    return {};
  }
  Status read_pad() {
    if (!options_.has("pad")) return {};
    const auto n = whole_numbers(options_.text("pad"));
    const auto all = static_cast<std::size_t>(r_.axes);
    if (!n || (n->size() != 1 && n->size() != all && n->size() != 2 * all))
      return wrong("pad", r_.axes == 1 ? "a whole number, or two as LEFT,RIGHT"
                          : r_.axes == 2
                              ? "a whole number, two as H,W, or four as TOP,LEFT,BOTTOM,RIGHT"
                              : "a whole number, three as D,H,W, or six as FRONT,TOP,LEFT,BACK,BOTTOM,RIGHT");
    // Before an axis, and after it: axes count from the last, w.
    const auto before = [&](std::size_t axis) { return (*n)[n->size() == 1 ? 0 : all - 1 - axis]; };
    const auto after = [&](std::size_t axis) { return (*n)[n->size() == 1 ? 0 : n->size() - 1 - axis]; };
    ConvPad& pad = r_.geometry.pad;
    pad.left = before(0), pad.right = after(0);
    if (r_.axes > 1) pad.top = before(1), pad.bottom = after(1);
    if (r_.axes > 2) r_.geometry.depth.front = before(2), r_.geometry.depth.back = after(2);
    return {};
  }
  Status read_epilogue() {
    std::string_view rest = options_.text("epilogue");
    while (!rest.empty()) {
      const std::size_t plus = rest.find('+');
      const std::string_view part = rest.substr(0, plus);
      rest = plus == std::string_view::npos ? std::string_view{} : rest.substr(plus + 1);
      const auto activation = parse_activation(part);
      const bool activated = r_.epilogue.activation != Activation::none;
      if (part == "bias" && !r_.bias && !r_.residual && !activated) {
        r_.bias = true;
      } else if (part == "residual" && !r_.residual) {
        r_.residual = true;
      } else if (activation && !activated) {
        r_.epilogue.activation = *activation;
        r_.epilogue.residual_first = r_.residual;
      } else {
        return wrong("epilogue",
                     "made of bias, then residual and one of relu, gelu, gelu_tanh, silu, sigmoid, relu6, hardswish "
                     "and hardsigmoid in either order, "
                     "each at most once and joined by +");
      }
    }
    return {};
  }

  const Options& options_;
  Request r_;
};

inline Result<Request> request_of(std::string_view op, const Options& options) {
  return RequestReader(op, options).read();
}

}  // namespace ridge::conv_detail
