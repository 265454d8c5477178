// A CUDA file's text with its tokens, and edits that leave every line where it is: what both translations of a user's
// file stand on, the one for g++ (translate.hpp) and the one for timing (timed.hpp).
#pragma once
#include <ridge/core/status.hpp>
#include <ridge/lab/tokens.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridge::lab {

bool is_opening(const Token&);  // ( [ {
bool is_closing(const Token&);

class SourceText {
 public:
  SourceText(std::string_view text, std::string file);

  const std::vector<Token>& tokens() const { return tokens_; }
  Status refuse(const Token&, const std::string& what) const;  // with file and line

  // Tokens, both included, on one line: without comments, with a blank where there was any.
  std::string on_a_line(std::size_t first, std::size_t last) const;

  // The token that closes or opens a bracket ( [ {, or the < > of template arguments; none where there is none.
  std::optional<std::size_t> closing(std::size_t open) const;
  std::optional<std::size_t> opening(std::size_t close) const;
  std::optional<std::size_t> closing_of_template(std::size_t open) const;
  std::optional<std::size_t> opening_of_template(std::size_t close) const;

  // The name that the directive #include at a token asks for, with its quotes or angles; empty: a macro's.
  std::string_view included_name(std::size_t include) const;

  // Where a part of the text is in it.
  std::size_t offset(std::string_view part) const { return static_cast<std::size_t>(part.data() - text_.data()); }

  // Text between two offsets is to be written differently. Line ends in it are kept.
  void replace(std::size_t begin, std::size_t end, std::string with) {
    edits_.push_back({begin, end, std::move(with)});
  }
  // The text with all edits. Those within what another one has replaced are left out.
  std::string edited();

 private:
  struct Edit {
    std::size_t begin = 0, end = 0;
    std::string with;
  };
  bool ends_directive(const Edit&) const;
  std::string line_ends(std::size_t begin, std::size_t end) const;
  bool is_continued(std::size_t line_end) const;

  std::string_view text_;
  std::string file_;
  std::vector<Token> tokens_;
  std::vector<Edit> edits_;
};

// As it is written within a string literal.
std::string escaped(std::string_view);

}  // namespace ridge::lab
