#include <ridge/lab/source_text.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ridge::lab {

bool is_opening(const Token& t) { return t.kind == Token::Kind::mark && (t.is("(") || t.is("[") || t.is("{")); }
bool is_closing(const Token& t) { return t.kind == Token::Kind::mark && (t.is(")") || t.is("]") || t.is("}")); }

SourceText::SourceText(std::string_view text, std::string file)
    : text_(text), file_(std::move(file)), tokens_(tokens_of(text)) {}

Status SourceText::refuse(const Token& at, const std::string& what) const {
  const auto line = 1 + std::ranges::count(text_.substr(0, at.at), '\n');
  return Status::error(Code::unsupported, file_ + ":" + std::to_string(line) + ": " + what);
}

std::string SourceText::on_a_line(std::size_t first, std::size_t last) const {
  std::string line;
  for (std::size_t i = first; i <= last; ++i) {
    if (i > first && tokens_[i].at > tokens_[i - 1].end()) line += ' ';
    line += tokens_[i].spelled;
  }
  return line;
}

// ---- brackets -------------------------------------------------------------------------------------------------------

std::optional<std::size_t> SourceText::closing(std::size_t open) const {
  int depth = 0;
  for (std::size_t i = open; i < tokens_.size(); ++i) {
    if (is_opening(tokens_[i])) ++depth;
    if (is_closing(tokens_[i]) && --depth == 0) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> SourceText::opening(std::size_t close) const {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (is_closing(tokens_[i])) ++depth;
    if (is_opening(tokens_[i]) && --depth == 0) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> SourceText::closing_of_template(std::size_t open) const {
  int depth = 0;
  for (std::size_t i = open; i < tokens_.size(); ++i) {
    if (is_opening(tokens_[i])) {
      const std::optional<std::size_t> end = closing(i);
      if (!end) return std::nullopt;
      i = *end;
    } else if (tokens_[i].is("<")) {
      ++depth;
    } else if (tokens_[i].is(">") && --depth == 0) {
      return i;
    } else if (tokens_[i].is(">>>") && (depth -= 3) <= 0) {
      return depth == 0 ? std::optional(i) : std::nullopt;
    } else if (is_closing(tokens_[i]) || tokens_[i].is(";")) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> SourceText::opening_of_template(std::size_t close) const {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    const Token& t = tokens_[i];
    if (is_closing(t)) {
      const std::optional<std::size_t> bracket = opening(i);
      if (!bracket) return std::nullopt;
      i = *bracket;
    } else if (is_opening(t) || t.is(";")) {
      return std::nullopt;
    } else if (t.is(">")) {
      ++depth;
    } else if (t.is(">>>")) {
      depth += 3;
    } else if (t.is("<") && --depth == 0) {
      return i;
    } else if (t.is("<<<") && (depth -= 3) <= 0) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// ---- includes -------------------------------------------------------------------------------------------------------

std::string_view SourceText::included_name(std::size_t include) const {
  const std::size_t begin = tokens_[include].end();
  const std::string_view rest = text_.substr(begin, text_.find('\n', begin) - begin);
  const std::size_t open = rest.find_first_of("<\"");
  if (open == rest.npos) return {};
  const std::size_t close = rest.find(rest[open] == '<' ? '>' : '"', open + 1);
  return close == rest.npos ? std::string_view() : rest.substr(open, close + 1 - open);
}

// ---- edits ----------------------------------------------------------------------------------------------------------

bool SourceText::is_continued(std::size_t line_end) const {
  return line_end > 0 && (text_[line_end - 1] == '\\' || (line_end > 1 && text_.substr(line_end - 2, 2) == "\\\r"));
}

// Whether the edit begins behind a directive on its line, which ends within the edit.
bool SourceText::ends_directive(const Edit& edit) const {
  const auto next = std::ranges::lower_bound(tokens_, edit.begin, {}, &Token::at);
  if (next == tokens_.begin() || !std::prev(next)->in_directive) return false;
  const std::size_t line_end = text_.substr(0, edit.end).find('\n', edit.begin);
  return line_end != text_.npos && !is_continued(line_end);
}

// The line ends between two offsets, with the backslashes that continue a directive.
std::string SourceText::line_ends(std::size_t begin, std::size_t end) const {
  std::string ends;
  for (std::size_t i = begin; i < end; ++i)
    if (text_[i] == '\n') ends += is_continued(i) ? "\\\n" : "\n";
  return ends;
}

std::string SourceText::edited() {
  std::ranges::stable_sort(edits_, {}, &Edit::begin);
  std::string result;
  std::size_t done = 0;
  for (const Edit& edit : edits_) {
    if (edit.begin < done) continue;
    result.append(text_.substr(done, edit.begin - done));
    const std::string ends = line_ends(edit.begin, edit.end);
    result += ends_directive(edit) ? ends + edit.with : edit.with + ends;
    done = edit.end;
  }
  return result.append(text_.substr(done));
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

}  // namespace ridge::lab
