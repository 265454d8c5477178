// Accumulate: the type that sums of floats are accumulated in, an option of reductions, norms, softmax and products.
#pragma once
#include <ridge/core/options.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace ridge {

// plain: the accumulator of the input type; two_float: double-float, float32 with nearly the accuracy of float64.
enum class Accumulate : std::uint8_t { plain, two_float };

// Instructions of a multiply-add in double-float arithmetic (tile/two_float.cuh): 2 of an exact product, 6 of an exact
// sum, and 2 that add up what both of them lost.
inline constexpr double two_float_multiply_add = 10;

// The option `accumulate`; plain where it is not given.
inline Result<Accumulate> accumulate_option(std::string_view op, const Options& options) {
  const std::string_view text = options.text("accumulate", "plain");
  if (text != "plain" && text != "two_float")
    return Status::invalid(op, "accumulate", "'" + std::string(text) + "'", "plain or two_float");
  return text == "plain" ? Accumulate::plain : Accumulate::two_float;
}

}  // namespace ridge
