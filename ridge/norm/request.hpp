// A request for an operator of this family by name: the operator, and its options axes, backward, eps and accumulate.
#pragma once
#include <ridge/core/options.hpp>
#include <ridge/norm/norm.hpp>

#include <string_view>
#include <vector>

namespace ridge::norm_detail {

using Names = std::vector<std::string_view>;

struct Request {
  Norm norm = Norm::layer;
  bool added = false, backward = false;
  double eps = 1e-5;
  int axes = 1;  // the last ones, of which a row is made
  Accumulate accumulate = Accumulate::plain;

  // All tensors that can be given and asked for; op.cpp lists those that are optional.
  Names inputs() const {
    if (backward) return added ? Names{"dy", "sum", "gamma", "dsum"} : Names{"dy", "x", "gamma"};
    return added ? Names{"x", "residual", "gamma", "beta"} : Names{"x", "gamma", "beta"};
  }
  Names outputs() const {
    if (backward) return {"dx", "dgamma", "dbeta"};
    return added ? Names{"y", "sum"} : Names{"y"};
  }
};

inline Result<Request> request_of(std::string_view op, const Options& options) {
  Request r{.norm = op.ends_with("layer_norm") ? Norm::layer : Norm::rms, .added = op.starts_with("add_")};
  auto backward = options.flag(op, "backward");
  if (!backward) return backward.error();
  const auto axes = options.integer(op, "axes", 1);
  if (!axes) return axes.error();
  if (*axes < 1 || *axes > max_rank)
    return Status::invalid(op, "axes", std::to_string(*axes), "from 1 to the number of x's axes");
  r.axes = static_cast<int>(*axes);
  auto eps = options.real(op, "eps", r.eps);
  if (!eps) return eps.error();
  r.backward = *backward;
  auto accumulate = accumulate_option(op, options);
  if (!accumulate) return accumulate.error();
  r.eps = *eps;
  r.accumulate = *accumulate;
  return r;
}

}  // namespace ridge::norm_detail
