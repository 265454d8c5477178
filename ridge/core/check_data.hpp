// What validation asks of a tensor's address.
#pragma once
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace ridge {

// Refuses data off its elements' size, which kernels could not read element by element either. Null data passes.
inline Status check_data(std::string_view op, std::string_view argument, const TensorView& view) {
  if (reinterpret_cast<std::uintptr_t>(view.data) % size_of(view.dtype) == 0) return {};
  return Status::invalid(op, std::string(argument) + ".data", "off its elements' size", "aligned to it");
}

}  // namespace ridge
