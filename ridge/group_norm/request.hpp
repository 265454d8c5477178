// A request by name: its options, and the names of its tensors.
#pragma once
#include <ridge/core/activation_option.hpp>
#include <ridge/group_norm/group_norm.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ridge::group_norm_detail {

using Names = std::vector<std::string_view>;

// All tensors that can be given and asked for; op.cpp lists those that are optional.
inline Names inputs_of(bool backward) {
  return backward ? Names{"dy", "x", "gamma", "beta"} : Names{"x", "gamma", "beta"};
}
inline Names outputs_of(bool backward) { return backward ? Names{"dx", "dgamma", "dbeta"} : Names{"y"}; }

struct Request {
  GroupNormOptions options = {};
  bool backward = false;
};

inline Result<Request> request_of(const Options& options) {
  constexpr std::string_view op = "group_norm";
  Request r;
  auto backward = options.flag(op, "backward");
  if (!backward) return backward.error();
  r.backward = *backward;
  if (!options.has("groups"))
    return Status::invalid(op, "groups", "missing", "given: the number of groups of x's channels");
  auto groups = options.integer(op, "groups", 1);
  if (!groups) return groups.error();
  r.options.groups = *groups;
  auto eps = options.real32(op, "eps", r.options.eps);
  if (!eps) return eps.error();
  r.options.eps = *eps;
  const std::string_view layout = options.text("layout", "nchw");
  if (layout != "nchw" && layout != "nhwc")
    return Status::invalid(op, "layout", "'" + std::string(layout) + "'", "nchw or nhwc");
  r.options.layout = layout == "nhwc" ? GroupNormLayout::nhwc : GroupNormLayout::nchw;
  const auto activation = activation_option(op, options);
  if (!activation) return activation.error();
  r.options.activation = *activation;
  return r;
}

}  // namespace ridge::group_norm_detail
