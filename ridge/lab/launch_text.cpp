#include <ridge/lab/launch_text.hpp>

#include <algorithm>
#include <optional>

namespace ridge::lab {

bool is_keyword(const Token& t) {
  return t.is("return") || t.is("else") || t.is("do") || t.is("case") || t.is("goto") || t.is("co_return");
}

namespace {

// Whether the preprocessor joins the token at `i` to the one before it: "##" is two marks.
bool is_pasted(const std::vector<Token>& tokens, std::size_t i) {
  return i >= 3 && tokens[i].in_directive && tokens[i - 1].is("#") && tokens[i - 2].is("#") &&
         tokens[i - 3].kind != Token::Kind::mark;
}

// The first token of the name, with template arguments, brackets or a call's parentheses, that ends before `end`.
std::optional<std::size_t> begin_of_name(const SourceText& text, std::size_t end) {
  const std::vector<Token>& tokens = text.tokens();
  if (end == 0) return std::nullopt;
  std::size_t i = end - 1;
  if (tokens[i].is(">") || tokens[i].is(">>>")) {
    const std::optional<std::size_t> less = text.opening_of_template(i);
    if (!less || *less == 0) return std::nullopt;
    i = *less - 1;
  }
  while (tokens[i].is("]") || tokens[i].is(")")) {
    const std::optional<std::size_t> bracket = text.opening(i);
    if (!bracket) return std::nullopt;
    const bool is_alone =
        tokens[*bracket].is("(") &&
        (*bracket == 0 || tokens[*bracket - 1].kind != Token::Kind::word || is_keyword(tokens[*bracket - 1]));
    if (is_alone) return *bracket;  // (kernel)
    if (*bracket == 0) return std::nullopt;
    i = *bracket - 1;
  }
  if (tokens[i].kind != Token::Kind::word && !is_pasted(tokens, i)) return std::nullopt;
  while (is_pasted(tokens, i)) i -= 3;
  return i;
}

// a::b<int>, f, (*pointer), table[i], object.member, object->member
std::optional<std::size_t> begin_of_callee(const SourceText& text, std::size_t open) {
  const std::vector<Token>& tokens = text.tokens();
  std::size_t i = open;  // the callee's tokens are from i on
  for (;;) {
    const std::optional<std::size_t> name = begin_of_name(text, i);
    if (!name) return std::nullopt;
    i = *name;
    if (i == 0) return i;
    const Token& before = tokens[i - 1];
    if (before.is("::")) {
      --i;
      const bool has_scope = i > 0 && (tokens[i - 1].is(">") || tokens[i - 1].kind == Token::Kind::word);
      if (!has_scope || is_keyword(tokens[i - 1])) return i;  // ::kernel
    } else if (before.is(".") || before.is("->")) {
      --i;
    } else if (before.is("template") && i > 1) {
      --i;
      if (!tokens[i - 1].is("::") && !tokens[i - 1].is(".") && !tokens[i - 1].is("->")) return std::nullopt;
      --i;
    } else {
      return i;
    }
  }
}

std::optional<std::size_t> end_of_configuration(const SourceText& text, std::size_t open) {
  const std::vector<Token>& tokens = text.tokens();
  for (std::size_t i = open + 1; i < tokens.size(); ++i) {
    if (tokens[i].is(">>>")) return i;
    if (is_opening(tokens[i])) {
      const std::optional<std::size_t> end = text.closing(i);
      if (!end) return std::nullopt;
      i = *end;
    } else if (is_closing(tokens[i]) || tokens[i].is(";")) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<LaunchText> launch_at(const SourceText& text, std::size_t open) {
  const std::vector<Token>& tokens = text.tokens();
  const std::optional<std::size_t> kernel = begin_of_callee(text, open);
  if (!kernel) return text.refuse(tokens[open], "'<<<' without a kernel's name before it");
  const std::optional<std::size_t> close = end_of_configuration(text, open);
  if (!close) return text.refuse(tokens[open], "'<<<' is not closed by '>>>'");
  if (*close + 1 >= tokens.size() || !tokens[*close + 1].is("("))
    return text.refuse(tokens[*close], "'>>>' must be followed by the kernel's arguments");
  const std::optional<std::size_t> end = text.closing(*close + 1);
  if (!end) return text.refuse(tokens[*close], "the kernel's arguments have no end");
  return LaunchText{*kernel, open, *close, *end, text.on_a_line(*kernel, open - 1)};
}

std::string literal_of(const std::string& called) {
  return called.find("##") == called.npos ? "\"" + escaped(called) + "\"" : "RIDGE_LAB_LITERAL(" + called + ")";
}

std::vector<LaunchArgument> arguments_of(const SourceText& text, const LaunchText& launch) {
  const std::vector<Token>& tokens = text.tokens();
  std::vector<LaunchArgument> arguments;
  std::size_t begin = launch.close + 2;
  for (std::size_t i = begin; i <= launch.end; ++i) {
    if (i == launch.end || tokens[i].is(",")) {
      if (i > begin) arguments.push_back({begin, i});
      begin = i + 1;
    } else if (is_opening(tokens[i])) {
      i = text.closing(i).value_or(i);
    } else if (tokens[i].is("<") && tokens[i - 1].kind == Token::Kind::word) {
      i = std::min(text.closing_of_template(i).value_or(i), launch.end - 1);  // else it is "less than"
    }
  }
  return arguments;
}

}  // namespace ridge::lab
