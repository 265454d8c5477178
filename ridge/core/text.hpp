// Text put together piece by piece with <<, numbers as a stream prints them. Not a stream: those hold a locale, and
// where two copies of the C++ library are in one process (a program that links its own in, beside Python's) the one's
// streams find the other's facets and crash.
//
// Nothing here asks the locale that the program has set: half is 0.5 in every country, or files written under one
// could not be read under another.
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

// As snprintf writes it in the C locale.
[[gnu::format(printf, 1, 2)]] RIDGE_API std::string format(const char* pattern, ...);

// Of ASCII's letters alone.
constexpr char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Fit for a terminal: a '?' stands for every control character and every byte that is no UTF-8. `kept` are those
// control characters that stay.
RIDGE_API std::string printable(std::string_view text, std::string_view kept = {});

}  // namespace ridge
