#include <ridge/lab/assembly_text.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridge::lab {
namespace {

struct Operand {
  std::string_view name;              // of [name], or empty
  std::size_t first, constraint_end;  // tokens: the constraint's first, and the '(' after it
  std::size_t close;                  // the ')' after the expression
  bool is_output;
};

class Assembly {
 public:
  explicit Assembly(SourceText& source) : source_(source), tokens_(source.tokens()) {}

  void translate(std::size_t first, bool in_function) {
    std::size_t open = first + 1;
    bool jumps = false;
    for (; open < tokens_.size() && tokens_[open].kind == Token::Kind::word; ++open) jumps |= tokens_[open].is("goto");
    if (!in_function && !tokens_[first].in_directive) return;
    if (open >= tokens_.size() || !tokens_[open].is("(")) return;
    const std::optional<std::size_t> close = source_.closing(open);
    if (!close || *close == open + 1) return;
    std::size_t end = open + 1;  // of the instructions
    while (end < *close && !tokens_[end].is(":") && !tokens_[end].is("::")) ++end;
    const std::optional<std::vector<Operand>> operands = operands_in(end, *close);
    if (operands && std::ranges::any_of(*operands, [&](const Operand& o) { return !is_ptx(o); })) return;
    if (end == open + 1) return;

    const auto replace = [&](std::size_t from, std::size_t to, std::string with) {
      source_.replace(from, to, std::move(with));
    };
    const std::string site = "::ridge::lab::PtxSite{", place = ", __FILE__, __LINE__}";
    if (!operands || jumps) {
      replace(tokens_[first].at, tokens_[open + 1].at, "::ridge::lab::ptx_refused(" + site);
      replace(tokens_[end - 1].end(), tokens_[*close].end(),
              place + (jumps ? ", \"it jumps\")" : ", \"its operands are not to be seen\")"));
      return;
    }
    replace(tokens_[first].at, tokens_[open + 1].at, "::ridge::lab::ptx(" + site);
    std::size_t done = tokens_[end - 1].end();
    std::string before = place;
    for (const Operand& o : *operands) {
      replace(done, tokens_[o.first].at,
              before + (o.is_output ? ", ::ridge::lab::written(" : ", ::ridge::lab::given("));
      replace(tokens_[o.constraint_end - 1].end(), tokens_[o.constraint_end].end(), ", ");
      done = tokens_[o.close].at;
      before = o.name.empty() ? ")" : ", \"" + std::string(o.name) + "\")";
    }
    replace(done, tokens_[*close].end(), before + ")");
  }

 private:
  // The operands between the first ':' and the closing parenthesis; none if they cannot be told apart, as where a macro
  // makes them.
  std::optional<std::vector<Operand>> operands_in(std::size_t begin, std::size_t close) const {
    std::vector<Operand> operands;
    int section = 0;  // outputs, inputs, clobbers, labels
    for (std::size_t i = begin; i < close;) {
      if (tokens_[i].is(":") || tokens_[i].is("::")) {
        section += tokens_[i++].is("::") ? 2 : 1;
        continue;
      }
      if (section > 2) return operands;
      if (tokens_[i].is(",")) {
        ++i;
        continue;
      }
      Operand o{.name = {}, .first = i, .constraint_end = 0, .close = 0, .is_output = section == 1};
      if (tokens_[i].is("[")) {
        if (i + 3 >= close || !tokens_[i + 2].is("]")) return std::nullopt;
        o.name = tokens_[i + 1].spelled;
        o.first = i += 3;
      }
      while (i < close && is_constraint(tokens_[i])) ++i;
      if (i == o.first || i >= close || !tokens_[i].is("(")) return std::nullopt;
      const std::optional<std::size_t> end = source_.closing(i);
      if (!end || *end >= close || *end == i + 1) return std::nullopt;
      o.constraint_end = i;
      o.close = *end;
      operands.push_back(o);
      i = *end + 1;
    }
    return operands;
  }
  static bool is_constraint(const Token& t) {
    return t.kind == Token::Kind::text || t.kind == Token::Kind::word || t.is("#");
  }

  // Whether a constraint may be PTX's; others are those of the host's assembly, which g++ compiles itself.
  bool is_ptx(const Operand& o) const {
    for (std::size_t i = o.first; i < o.constraint_end; ++i)
      if (tokens_[i].kind == Token::Kind::text &&
          tokens_[i].spelled.find_first_not_of("\"=+&rlhfdnC0123456789") != std::string_view::npos)
        return false;
    return true;
  }

  SourceText& source_;
  const std::vector<Token>& tokens_;
};

}  // namespace

void translate_assembly(SourceText& source, std::size_t first, bool in_function) {
  Assembly(source).translate(first, in_function);
}

}  // namespace ridge::lab
