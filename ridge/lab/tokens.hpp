// The tokens of C++ text, as far as the translator needs them: words, literals and marks, without comments and blanks.
#pragma once
#include <cstddef>
#include <string_view>
#include <vector>

namespace ridge::lab {

struct Token {
  enum class Kind : unsigned char { word, number, text, mark };  // text: a string or character literal
  Kind kind = Kind::mark;
  std::size_t at = 0;  // offset in the text
  std::string_view spelled;
  std::size_t length = 0;         // in the text, where ">> >" is ">>>"
  bool in_directive = false;      // of a preprocessor line
  bool begins_directive = false;  // its '#'
  std::size_t end() const { return at + length; }
  bool is(std::string_view what) const { return spelled == what; }
};

// Marks have one character each, but for "::", "->" and the marks of a launch, "<<<" and ">>>". A ">>>" that closes
// three template argument lists is one as well: who knows which it is must take it apart. "<< <" is a launch's too, and
// the ">> >" after it: formatters write them so.
std::vector<Token> tokens_of(std::string_view text);

}  // namespace ridge::lab
