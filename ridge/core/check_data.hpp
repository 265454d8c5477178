// What validation asks of a tensor's memory.
#pragma once
#include <ridge/core/overlap.hpp>
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

#include <initializer_list>
#include <string_view>

namespace ridge {

// Refuses shapes and strides that no memory has: more than most_elements (sizes of 0 counted as 1), or elements that
// lie further apart than as many of 16 bytes would. What an operator multiplies afterwards stays within 64 bits.
RIDGE_API Status check_extent(std::string_view op, std::string_view argument, const Layout&);

// That, and data off its elements' size, which kernels could not read element by element either. Null data passes.
RIDGE_API Status check_data(std::string_view op, std::string_view argument, const TensorView&);

// Refuses a problem's sizes where some are negative, or their product is more than most_elements: `argument` and the
// text say which.
RIDGE_API Status check_sizes(std::string_view op, std::string_view argument, std::initializer_list<std::int64_t> sizes);

// Refuses an output of which two elements lie in one place.
RIDGE_API Status check_elements_apart(std::string_view op, std::string_view argument, const Layout&);

}  // namespace ridge
