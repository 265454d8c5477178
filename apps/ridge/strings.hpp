// Strings as programs exchange them: arguments for exec, and text in lines.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {

// What exec and spawn take: a pointer to each, then null. They point into `strings`.
inline std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& s : strings) list.push_back(s.data());
  list.push_back(nullptr);
  return list;
}

// Without their ends; empty ones among them.
inline std::vector<std::string> text_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    lines.emplace_back(text.substr(0, text.find('\n')));
    text.remove_prefix(lines.back().size() < text.size() ? lines.back().size() + 1 : text.size());
  }
  return lines;
}

}  // namespace ridge::cli
