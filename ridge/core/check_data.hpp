// Validation of a tensor's memory.
#pragma once
#include <ridge/core/overlap.hpp>
#include <ridge/core/status.hpp>
#include <ridge/core/tensor.hpp>

#include <initializer_list>
#include <string_view>

namespace ridge {

// Refuses shapes and strides that no memory holds: more than most_elements (sizes of 0 count as 1), or elements further
// apart than most_elements of 16 bytes are. Later products of an operator then stay within 64 bits.
RIDGE_API Status check_extent(std::string_view op, std::string_view argument, const Layout&);

// The same, and refuses data that is not aligned to its element size: kernels cannot read single elements of it. Null
// data passes.
RIDGE_API Status check_data(std::string_view op, std::string_view argument, const TensorView&);

// Refuses a problem's sizes where one is negative, or their product is more than most_elements: `argument` and the text
// name them.
RIDGE_API Status check_sizes(std::string_view op, std::string_view argument, std::initializer_list<std::int64_t> sizes);

// Refuses an output that has two elements at one address.
RIDGE_API Status check_elements_apart(std::string_view op, std::string_view argument, const Layout&);

}  // namespace ridge
