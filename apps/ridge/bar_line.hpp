// A line of the files that operators' folders keep: cells between bars, "CASE | number | why"; '#' begins a comment.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace ridge::cli {

inline std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

// The cells without the blanks around them; none where the line is empty or a comment.
inline std::vector<std::string> bar_cells(const std::string& line) {
  std::vector<std::string> cells;
  if (trimmed(line).empty() || trimmed(line).front() == '#') return cells;
  for (std::size_t begin = 0;;) {
    const std::size_t bar = line.find('|', begin);
    cells.push_back(trimmed(line.substr(begin, bar == std::string::npos ? bar : bar - begin)));
    if (bar == std::string::npos) return cells;
    begin = bar + 1;
  }
}

}  // namespace ridge::cli
