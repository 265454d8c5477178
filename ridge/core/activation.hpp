// Activation: the functions that operators apply to results before they store them.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace ridge {

enum class Activation : std::uint8_t { none, relu, gelu, gelu_tanh, silu, sigmoid, relu6, hardswish, hardsigmoid };
inline constexpr int activation_count = 9;

constexpr std::string_view name(Activation activation) {
  constexpr std::string_view names[activation_count] = {"none",    "relu",  "gelu",      "gelu_tanh",  "silu",
                                                        "sigmoid", "relu6", "hardswish", "hardsigmoid"};
  return names[static_cast<int>(activation)];
}

constexpr std::optional<Activation> parse_activation(std::string_view text) {
  for (int i = 0; i < activation_count; ++i)
    if (name(static_cast<Activation>(i)) == text) return static_cast<Activation>(i);
  return std::nullopt;
}

}  // namespace ridge
