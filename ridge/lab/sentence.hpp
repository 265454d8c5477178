// A sentence in a fixed buffer, for a signal handler, which must not allocate. What does not fit is cut off.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <string_view>

namespace ridge::lab {

class Sentence {
 public:
  Sentence& operator<<(std::string_view text) {
    const std::size_t n = std::min(text.size(), sizeof text_ - size_);
    std::memcpy(text_ + size_, text.data(), n);
    size_ += n;
    return *this;
  }
  Sentence& operator<<(std::uint64_t number) { return digits(number, 10); }
  // "file.cu:31", without the folder
  Sentence& operator<<(const std::source_location& at) {
    const std::string_view file = at.file_name();
    return *this << file.substr(file.rfind('/') + 1) << ":" << std::uint64_t{at.line()};
  }
  Sentence& address(std::uintptr_t p) { return *this << "0x", digits(p, 16); }
  std::string_view text() const { return {text_, size_}; }

 private:
  Sentence& digits(std::uint64_t number, int base) {
    char text[24];
    const auto end = std::to_chars(text, text + sizeof text, number, base).ptr;
    return *this << std::string_view(text, static_cast<std::size_t>(end - text));
  }
  char text_[1024];
  std::size_t size_ = 0;
};

}  // namespace ridge::lab
