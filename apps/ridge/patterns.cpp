#include "patterns.hpp"

#include "bar_line.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <fstream>

namespace ridge::cli {

constexpr std::size_t most_cases = 100'000;  // of one pattern: a slip in its braces should not take an hour

Result<std::vector<std::string>> cases_of(const std::string& pattern) {
  std::vector<std::string> texts{""};
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t open = std::min(pattern.find('{', at), pattern.size());
    for (std::string& text : texts) text += pattern.substr(at, open - at);
    if (open == pattern.size()) break;
    const std::size_t close = pattern.find_first_of("{}", open + 1);
    if (close == std::string::npos || pattern[close] == '{')
      return Status::invalid("cases", "PATTERN", "'" + pattern + "'", "a case with lists {a,b} that hold no braces");
    std::vector<std::string> longer;
    for (std::size_t begin = open + 1; begin <= close;) {
      const std::size_t end = std::min(pattern.find(',', begin), close);
      for (const std::string& text : texts) longer.push_back(text + pattern.substr(begin, end - begin));
      begin = end + 1;
    }
    if (longer.size() > most_cases)
      return Status::invalid("cases", "PATTERN", "'" + pattern + "'",
                             fmt::format("a pattern of at most {} cases", most_cases));
    texts = std::move(longer);
    at = close + 1;
  }
  return texts;
}

Result<std::vector<Pattern>> patterns_in(const std::string& place) {
  if (place.find(':') != std::string::npos) return std::vector{Pattern{place}};
  std::ifstream in(place);
  if (!in)
    return Status::error(Code::io,
                         fmt::format("'{}' is neither a pattern OP:DTYPE:k=v nor a file that can be read", place));
  std::vector<Pattern> patterns;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::vector<std::string> cells = bar_cells(line);
    if (cells.empty()) continue;
    Pattern pattern{cells[0]};
    if (cells.size() > 1) {
      const auto [end, error] = std::from_chars(cells[1].data(), cells[1].data() + cells[1].size(), pattern.most);
      if (error != std::errc() || end != cells[1].data() + cells[1].size() || !(pattern.most >= 1))
        return Status::error(Code::io,
                             fmt::format("{}:{}: the number of times is '{}'; it must be 1 or more, in a line of "
                                         "PATTERN | most | why, or of a pattern alone",
                                         place, number, cells[1]));
    }
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

}  // namespace ridge::cli
