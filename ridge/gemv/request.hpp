// A request by name: the options of the command line and of cases, and the tensors that they imply.
#pragma once
#include <ridge/core/options.hpp>
#include <ridge/gemv/gemv.hpp>

#include <string_view>
#include <vector>

namespace ridge::gemv_detail {

struct Request {
  bool transposed = false;
  GemvScalars scalars;
  bool bias = false;
  bool ignores_c = false;  // c is given although beta is given as 0; it is not read

  bool has_c() const { return scalars.beta != 0; }
  std::vector<std::string_view> inputs() const {
    std::vector<std::string_view> names{"a", "x"};
    if (has_c() || ignores_c) names.push_back("c");
    if (bias) names.push_back("bias");
    return names;
  }
};

// layout=n|t  epilogue=bias+ACTIVATION  alpha= beta=
// given: the number of inputs, where known. One more than the options imply is c, if beta is given.
inline Result<Request> request_of(const Options& options, std::size_t given = 0) {
  Request r;
  const std::string_view layout = options.text("layout", "n");
  if (layout != "n" && layout != "t")
    return Status::invalid("gemv", "layout", "'" + std::string(layout) + "'", "n or t");
  r.transposed = layout == "t";
  auto alpha = options.real("gemv", "alpha", 1), beta = options.real("gemv", "beta", 0);
  if (!alpha) return alpha.error();
  if (!beta) return beta.error();
  r.scalars.alpha = *alpha;
  r.scalars.beta = *beta;
  std::string_view rest = options.text("epilogue");
  while (!rest.empty()) {
    const std::size_t plus = rest.find('+');
    const std::string_view part = rest.substr(0, plus);
    rest = plus == std::string_view::npos ? std::string_view{} : rest.substr(plus + 1);
    const auto activation = parse_activation(part);
    if (part == "bias" && !r.bias) r.bias = true;
    else if (activation && r.scalars.activation == Activation::none) r.scalars.activation = *activation;
    else
      return Status::invalid("gemv", "epilogue", "'" + std::string(options.text("epilogue")) + "'",
                             "made of bias and one of relu, gelu, gelu_tanh, silu, sigmoid, relu6, hardswish and "
                             "hardsigmoid, each at most once and joined by +");
  }
  r.ignores_c = !r.has_c() && options.has("beta") && given == r.inputs().size() + 1;
  return r;
}

}  // namespace ridge::gemv_detail
