#include <ridge/lab/tokens.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace ridge::lab {
namespace {

bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool continues_word(char c) { return begins_word(c) || is_digit(c); }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Token> all() {
    while (at_ < text_.size()) step();
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool follows(std::string_view what) const { return text_.substr(at_, what.size()) == what; }

  void step() {
    const char c = peek();
    if (c == '\n') {
      in_directive_ = false;
      line_is_blank_ = true;
      ++at_;
    } else if (c == '\\' && (peek(1) == '\n' || follows("\\\r\n"))) {
      at_ += peek(1) == '\n' ? 2 : 3;  // the line goes on
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f') {
      ++at_;
    } else if (follows("//")) {
      skip_line();
    } else if (follows("/*")) {
      const std::size_t close = text_.find("*/", at_ + 2);
      at_ = close == text_.npos ? text_.size() : close + 2;
    } else {
      token();
      line_is_blank_ = false;
    }
  }

  void skip_line() {
    while (at_ < text_.size() && text_[at_] != '\n') at_ += text_[at_] == '\\' && peek(1) ? 2 : 1;
  }

  void token() {
    const std::size_t begin = at_;
    const char c = peek();
    if (begins_word(c)) {
      while (continues_word(peek())) ++at_;
      const std::string_view word = text_.substr(begin, at_ - begin);
      if (peek() == '"' && word.ends_with('R') && word.size() <= 3) return raw_string(begin);
      if ((peek() == '"' || peek() == '\'') && is_prefix(word)) return quoted(begin);
      return add(Token::Kind::word, begin);
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(1)))) {
      while (continues_word(peek()) || peek() == '.' || (peek() == '\'' && continues_word(peek(1))) ||
             ((peek() == '+' || peek() == '-') && is_exponent(text_[at_ - 1])))
        ++at_;
      return add(Token::Kind::number, begin);
    }
    if (c == '"' || c == '\'') return quoted(begin);
    if (c == '#' && line_is_blank_) {
      in_directive_ = true;
      ++at_;
      add(Token::Kind::mark, begin);
      tokens_.back().begins_directive = true;
      return;
    }
    if (launch_mark(begin)) return;
    for (const std::string_view mark : {"::", "->"})
      if (follows(mark)) {
        at_ += mark.size();
        return add(Token::Kind::mark, begin);
      }
    ++at_;
    add(Token::Kind::mark, begin);
  }

  // "<<<" and ">>>", with blanks within. Nothing else has "<< <"; "A<B<C>> >" may be, so ">> >" must end what "<<<" has
  // begun, with the arguments after it.
  bool launch_mark(std::size_t begin) {
    static constexpr std::string_view opens = "<<<", closes = ">>>";
    const auto end_of = [&](std::string_view mark) {
      std::size_t at = begin;
      for (const char c : mark) {
        at = std::min(text_.find_first_not_of(" \t\r\n", at), text_.size());
        if (at == text_.size() || text_[at++] != c) return text_.npos;
      }
      return at;
    };
    std::size_t end = peek() == '<' && peek(1) == '<' ? end_of(opens) : text_.npos;
    const bool is_open = end != text_.npos;
    if (peek() == '>' && peek(1) == '>') {
      end = end_of(closes);
      const std::size_t next = text_.find_first_not_of(" \t\r\n\\", std::min(end, text_.size()));
      if (!follows(closes) && (!is_launch_open_ || next == text_.npos || text_[next] != '(')) end = text_.npos;
    }
    if (end == text_.npos) return false;
    is_launch_open_ = is_open;
    at_ = end;
    add(Token::Kind::mark, begin);
    tokens_.back().spelled = is_open ? opens : closes;
    return true;
  }

  static bool is_prefix(std::string_view word) { return word == "L" || word == "u" || word == "U" || word == "u8"; }
  static bool is_exponent(char c) { return c == 'e' || c == 'E' || c == 'p' || c == 'P'; }

  void quoted(std::size_t begin) {
    const char quote = peek();
    for (++at_; at_ < text_.size() && peek() != quote && peek() != '\n'; ++at_)
      if (peek() == '\\') ++at_;
    if (peek() == quote) ++at_;
    add(Token::Kind::text, begin);
  }

  void raw_string(std::size_t begin) {
    const std::size_t open = text_.find('(', at_);
    if (open == text_.npos) return quoted(begin);
    std::string close = ")";
    close.append(text_.substr(at_ + 1, open - at_ - 1)).append("\"");
    const std::size_t end = text_.find(close, open);
    at_ = end == text_.npos ? text_.size() : end + close.size();
    add(Token::Kind::text, begin);
  }

  void add(Token::Kind kind, std::size_t begin) {
    at_ = std::min(at_, text_.size());
    tokens_.push_back({kind, begin, text_.substr(begin, at_ - begin), at_ - begin, in_directive_, false});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool in_directive_ = false, line_is_blank_ = true;
  bool is_launch_open_ = false;  // "<<<", and no ">>>" since
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text) { return Scanner(text).all(); }

}  // namespace ridge::lab
