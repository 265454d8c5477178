// Whole numbers separated by commas, as options of windows give them: "2", "2,1", "0,1,2,1".
#pragma once
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ridge {

// The numbers, one at least; nothing where the text is no such list.
inline std::optional<std::vector<std::int64_t>> whole_numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char *at = text.data(), *end = at + text.size();
  while (true) {
    std::int64_t number = 0;
    const auto read = std::from_chars(at, end, number);
    if (read.ec != std::errc{} || (read.ptr != end && *read.ptr != ',')) return std::nullopt;
    numbers.push_back(number);
    if (read.ptr == end) return numbers;
    at = read.ptr + 1;
  }
}

}  // namespace ridge
