// Text built piece by piece with <<, with numbers as a stream prints them. It is not a stream: streams hold a locale,
// and where a process has two copies of the C++ library (a program that links its own, beside Python's), the streams of
// one find the facets of the other and crash.
//
// Nothing here depends on the locale that the program has set: half is 0.5 in every country, so that files written
// under one locale can be read under another.
#pragma once
#include <ridge/core/api.hpp>

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace ridge {

class Text {
 public:
  Text& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  Text& operator<<(std::integral auto number) {
    text_ += std::to_string(number);
    return *this;
  }
  Text& operator<<(double number) {
    char digits[32];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, number, std::chars_format::general, 6).ptr);
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

// The shortest text that reads back as the same number.
inline std::string number_text(std::floating_point auto number) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

// "1 row", "3 rows".
inline std::string count_text(std::integral auto number, std::string_view of) {
  return std::to_string(number) + " " + std::string(of) + (number == 1 ? "" : "s");
}

// Formats as snprintf does in the C locale.
[[gnu::format(printf, 1, 2)]] RIDGE_API std::string format(const char* pattern, ...);

// Changes ASCII letters only.
constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Text that is safe for a terminal: '?' replaces every control character and every byte that is not UTF-8. `kept` lists
// control characters that stay.
RIDGE_API std::string printable(std::string_view text, std::string_view kept = {});

}  // namespace ridge
