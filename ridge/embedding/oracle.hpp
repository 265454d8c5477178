// One element, by definition; shares nothing with the kernels.
#pragma once
#include <cstdint>
#include <vector>

namespace ridge::embedding_detail {

inline double element_oracle(const std::vector<double>& table, std::int64_t rows, std::int64_t cols, double index,
                             std::int64_t col) {
  if (index < 0 || index >= static_cast<double>(rows)) return 0;
  return table[static_cast<std::size_t>(index) * static_cast<std::size_t>(cols) + static_cast<std::size_t>(col)];
}

}  // namespace ridge::embedding_detail
