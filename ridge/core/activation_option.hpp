// The option `activation` of operators that apply one to their results.
#pragma once
#include <ridge/core/activation.hpp>
#include <ridge/core/options.hpp>

#include <string>

namespace ridge {

inline Result<Activation> activation_option(std::string_view op, const Options& options) {
  const std::string_view text = options.text("activation", "none");
  if (const auto parsed = parse_activation(text)) return *parsed;
  return Status::invalid(op, "activation", "'" + std::string(text) + "'",
                         "one of none relu gelu gelu_tanh silu sigmoid relu6 hardswish hardsigmoid");
}

}  // namespace ridge
