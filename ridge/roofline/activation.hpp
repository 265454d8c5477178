// What an activation costs a kernel's model.
#pragma once
#include <ridge/core/activation.hpp>
#include <ridge/core/dtype.hpp>

#include <iterator>

namespace ridge::roofline {

// Instructions for each element: of 16 bits as tile/quick_activation.cuh counts them, of 32 bits about as many as expf,
// erfcf and divisions have.
constexpr double activation_instructions(Activation activation, DType dtype) {
  constexpr double narrow[] = {0, 1, 12, 8, 6, 4, 4, 8, 6}, wide[] = {0, 1, 45, 25, 20, 18, 4, 8, 6};
  static_assert(std::size(narrow) == activation_count && std::size(wide) == activation_count);
  return (size_of(dtype) == 2 ? narrow : wide)[static_cast<int>(activation)];
}

}  // namespace ridge::roofline
