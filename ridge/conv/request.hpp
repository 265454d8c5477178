// A request by name: the options of the command line and of cases, and the tensors that they need.
#pragma once
#include <ridge/conv/conv.hpp>
#include <ridge/core/options.hpp>
#include <ridge/core/whole_numbers.hpp>

namespace ridge::conv_detail {

struct Request {
  ConvGeometry geometry;
  ConvEpilogue epilogue;
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

// Parses whole numbers, separated by commas.
inline Result<std::vector<std::int64_t>> numbers_of(std::string_view key, std::string_view text,
                                                    std::string_view allowed) {
  if (auto numbers = whole_numbers(text)) return *std::move(numbers);
  return Status::invalid("conv2d", std::string(key), "'" + std::string(text) + "'", std::string(allowed));
}

inline Result<ConvPair> pair_of(const Options& options, std::string_view key) {
  constexpr std::string_view allowed = "a whole number, or two as H,W";
  auto n = numbers_of(key, options.text(key, "1"), allowed);
  if (!n) return n.error();
  if (n->size() > 2)
    return Status::invalid("conv2d", std::string(key), "'" + std::string(options.text(key)) + "'",
                           std::string(allowed));
  return ConvPair{n->front(), n->back()};
}

// stride= dilation= (n or h,w)  pad= (n or h,w or top,left,bottom,right)  groups=  layout=nchw|nhwc
// epilogue=bias+ACTIVATION+residual, in the order in which they are applied  math=exact|tf32  backward=0|1
inline Result<Request> request_of(const Options& options) {
  Request r;
  const auto wrong = [&](const char* key, const char* allowed) {
    return Status::invalid("conv2d", key, "'" + std::string(options.text(key)) + "'", allowed);
  };
  auto stride = pair_of(options, "stride"), dilation = pair_of(options, "dilation");
  if (!stride) return stride.error();
  if (!dilation) return dilation.error();
  r.geometry.stride = *stride;
  r.geometry.dilation = *dilation;
  constexpr const char* pads = "a whole number, two as H,W, or four as TOP,LEFT,BOTTOM,RIGHT";
  auto pad = numbers_of("pad", options.text("pad", "0"), pads);
  if (!pad) return pad.error();
  if (pad->size() == 3 || pad->size() > 4) return wrong("pad", pads);
  const auto& p = *pad;
  r.geometry.pad = {p[0], p[p.size() > 1 ? 1 : 0], p[p.size() == 4 ? 2 : 0], p.back()};
  auto groups = options.integer("conv2d", "groups", 1);
  if (!groups) return groups.error();
  r.geometry.groups = *groups;
  const std::string_view layout = options.text("layout", "nchw");
  if (layout != "nchw" && layout != "nhwc") return wrong("layout", "nchw or nhwc");
  r.geometry.layout = layout == "nhwc" ? ConvLayout::nhwc : ConvLayout::nchw;
  const std::string_view math = options.text("math", "exact");
  if (math != "exact" && math != "tf32") return wrong("math", "exact or tf32");
  r.math = math == "tf32" ? ConvMath::tf32 : ConvMath::exact;
  auto backward = options.flag("conv2d", "backward");
  if (!backward) return backward.error();
  r.backward = *backward;

  std::string_view rest = options.text("epilogue");
  while (!rest.empty()) {
    const std::size_t plus = rest.find('+');
    const std::string_view part = rest.substr(0, plus);
    rest = plus == std::string_view::npos ? std::string_view{} : rest.substr(plus + 1);
    const auto activation = parse_activation(part);
    const bool activated = r.epilogue.activation != Activation::none;
    if (part == "bias" && !r.bias && !r.residual && !activated) {
      r.bias = true;
    } else if (part == "residual" && !r.residual) {
      r.residual = true;
    } else if (activation && !activated) {
      r.epilogue.activation = *activation;
      r.epilogue.residual_first = r.residual;
    } else {
      return wrong("epilogue",
                   "made of bias, then residual and one of relu, gelu, gelu_tanh, silu and sigmoid in either order, "
                   "each at most once and joined by +");
    }
  }
  for (const char* key : {"epilogue", "math"})
    if (r.backward && options.has(key)) return wrong(key, "left out in a backward request");
  return r;
}

}  // namespace ridge::conv_detail
