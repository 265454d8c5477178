// Text put together piece by piece with <<, numbers as a stream prints them. Not a stream: those hold a locale, and
// where two copies of the C++ library are in one process (a program that links its own in, beside Python's) the one's
// streams find the other's facets and crash.
#pragma once
#include <concepts>
#include <cstdio>
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
    std::snprintf(digits, sizeof digits, "%g", number);
    text_ += digits;
    return *this;
  }
  const std::string& str() const { return text_; }

 private:
  std::string text_;
};

// A number in a message.
inline std::string number_text(double number) { return (Text() << number).str(); }

}  // namespace ridge
