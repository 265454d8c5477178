// The braces that are open at a token of a text: whether it is within a function.
#pragma once
#include <ridge/lab/source_text.hpp>

#include <algorithm>
#include <vector>

namespace ridge::lab {

class Scopes {
 public:
  explicit Scopes(const SourceText& text) : tokens_(text.tokens()) {}

  void follow(std::size_t i) {
    if (tokens_[i].kind != Token::Kind::mark) return;
    if (tokens_[i].is("{")) open_.push_back(opens_namespace(i));
    else if (tokens_[i].is("}") && !open_.empty()) open_.pop_back();
  }
  std::size_t size() const { return open_.size(); }
  bool in_function() const {
    return std::ranges::any_of(open_, [](bool is_namespace) { return !is_namespace; });
  }

 private:
  bool opens_namespace(std::size_t brace) const {
    std::size_t i = brace;
    while (i > 0 && (tokens_[i - 1].is("::") || tokens_[i - 1].kind == Token::Kind::word) &&
           !tokens_[i - 1].is("namespace"))
      --i;
    if (i > 0 && tokens_[i - 1].is("namespace")) return true;
    return brace > 1 && tokens_[brace - 1].kind == Token::Kind::text && tokens_[brace - 2].is("extern");
  }

  const std::vector<Token>& tokens_;
  std::vector<bool> open_;  // whether each brace is a namespace's
};

}  // namespace ridge::lab
