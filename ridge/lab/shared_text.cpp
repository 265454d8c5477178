#include <ridge/lab/shared_text.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

namespace ridge::lab {

// What a branch of a condition declares is not there after it.
void SharedText::follow_condition(const Token& directive) {
  if (directive.spelled.starts_with("if")) return conditions_.push_back(shared_.size());
  const bool ends = directive.is("else") || directive.spelled.starts_with("elif") || directive.is("endif");
  if (conditions_.empty() || !ends) return;
  shared_.resize(std::min(shared_.size(), conditions_.back()));
  if (directive.is("endif")) conditions_.pop_back();
}

void SharedText::follow_scopes() {
  std::erase_if(shared_, [&](const Shared& s) { return s.scopes > scopes_.size(); });
}

// ---- extern __shared__ float a[], b[]; -----------------------------------------------------------------------------

void SharedText::declaration(std::size_t first) {
  if (first < shared_until_) return;
  if (tokens_[first].is("__shared__") && first + 1 < tokens_.size() && !tokens_[first + 1].is("extern")) {
    // Shared memory is static in any case, and a word said twice is an error.
    for (const std::size_t other : {first - 1, first + 1})
      if (other < tokens_.size() && tokens_[other].is("static"))
        source_.replace(tokens_[other].at, tokens_[other].end(), "");
    if (first == 0 || !tokens_[first - 1].is("extern")) {
      static_shared(first);
      limit_shared(first);
    }
    return;
  }
  bool is_extern = false, is_shared = false;
  std::string type;
  std::vector<std::string> names, extents;
  std::size_t i = first;
  for (; i < tokens_.size() && !tokens_[i].is(";"); ++i) {
    const Token& t = tokens_[i];
    if (t.is("extern")) {
      is_extern = true;
    } else if (t.is("__shared__")) {
      is_shared = true;
    } else if (t.is("__align__") || t.is("alignas") || t.is("__attribute__")) {
      const std::optional<std::size_t> end = i + 1 < tokens_.size() ? source_.closing(i + 1) : std::nullopt;
      if (!end) return;
      i = *end;
    } else if (t.is("(") || t.is("{") || t.is("}") || t.is("=") || t.kind == Token::Kind::text) {
      return;  // a function, a scope or a variable that is no array without a size
    } else if (i + 2 < tokens_.size() && t.kind == Token::Kind::word && tokens_[i + 1].is("[") &&
               tokens_[i + 2].is("]")) {
      names.emplace_back(t.spelled);
      i += 2;
      extents.emplace_back();
      while (i + 1 < tokens_.size() && tokens_[i + 1].is("[")) {  // of rows: [][8]
        const std::optional<std::size_t> end = source_.closing(i + 1);
        if (!end) return;
        extents.back() += source_.on_a_line(i + 1, *end);
        i = *end;
      }
    } else if (names.empty()) {
      type += (type.empty() ? "" : " ") + std::string(t.spelled);
    } else if (!t.is(",")) {
      return;
    }
    if (i > first + 1 && !is_shared && !is_extern) return;
  }
  if (!is_extern || !is_shared || names.empty() || i == tokens_.size()) return;
  shared_until_ = i;
  std::string with;
  for (std::size_t n = 0; n < names.size(); ++n) {
    const std::string pointer = type + (extents[n].empty() ? "*" : " (*)" + extents[n]);
    with += scopes_.in_function()
                ? "[[maybe_unused]] auto* const " + names[n] + " = static_cast<" + pointer +
                      ">(::ridge::simt::detail::dynamic_shared_memory()); "
                : "[[maybe_unused]] static constexpr ::ridge::lab::DynamicShared<" + type + "> " + names[n] + "{}; ";
  }
  source_.replace(tokens_[first].at, tokens_[i].end(), with);
  return;
}

// ---- __shared__ half a[32][8], b; --------------------------------------------------------------------------------
// A variable of a class with constructors has a guard, which g++ would check, and the modes see, at each access: so
// the class is put into one without (launch.hpp). Built-in types stay as they are.

void SharedText::static_shared(std::size_t first) {
  static constexpr std::array<std::string_view, 14> built_in{"float",  "double", "int",    "unsigned", "char",
                                                             "short",  "long",   "bool",   "signed",   "uint32_t",
                                                             "size_t", "float4", "float2", "int4"};
  std::string align, type;
  std::size_t i = first + 1;
  const auto is_type = [&](const Token& t) { return std::ranges::find(built_in, t.spelled) != built_in.end(); };
  for (; i + 1 < tokens_.size(); ++i) {  // up to the first declarator: a word before [ , ; or =
    const Token& t = tokens_[i];
    if (t.is("__align__") || t.is("alignas") || t.is("__attribute__")) {
      const std::optional<std::size_t> end = source_.closing(i + 1);
      if (!end) return;
      if (t.is("alignas")) source_.replace(t.at, t.end(), "__align__");  // before a type g++ takes no other
      align +=
          (t.is("alignas") ? "__align__(" + source_.on_a_line(i + 2, *end - 1) + ")" : source_.on_a_line(i, *end)) +
          " ";
      i = *end;
    } else if (is_type(t)) {
      return;
    } else if (t.is("<")) {
      const std::optional<std::size_t> end = source_.closing_of_template(i);
      if (!end) return;
      type += source_.on_a_line(i, *end);
      i = *end;
    } else if (t.kind == Token::Kind::word &&
               (tokens_[i + 1].is("[") || tokens_[i + 1].is(",") || tokens_[i + 1].is(";"))) {
      break;
    } else if (t.kind == Token::Kind::word || t.is("::")) {
      type += (t.kind == Token::Kind::word ? " " : "") + std::string(t.spelled);
    } else {
      return;  // a pointer, a function type, an initializer
    }
  }
  if (type.empty()) return;
  std::string with;
  std::size_t end = i;
  for (; end < tokens_.size(); ++end) {  // declarators
    const std::size_t name = end++;
    while (end < tokens_.size() && tokens_[end].is("[")) {
      const std::optional<std::size_t> close = source_.closing(end);
      if (!close) return;
      end = *close + 1;
    }
    if (end >= tokens_.size() || tokens_[name].kind != Token::Kind::word) return;
    const std::string called(tokens_[name].spelled);
    const std::string extents = end > name + 1 ? source_.on_a_line(name + 1, end - 1) : "";
    with += "typedef" + type + " ridge_type_of_" + called + extents + "; __shared__ " + align +
            "::ridge::lab::Shared<ridge_type_of_" + called + "> ridge_place_of_" + called + "; ridge_type_of_" +
            called + "& " + called + " = ridge_place_of_" + called + ".value; ";
    if (tokens_[end].is(";")) break;
    if (!tokens_[end].is(",")) return;
  }
  if (end >= tokens_.size()) return;
  const bool qualified = first > 0 && (tokens_[first - 1].is("volatile") || tokens_[first - 1].is("const"));
  if (!qualified && first > 0 && (tokens_[first - 1].kind == Token::Kind::word || !scopes_.in_function())) return;
  source_.replace(tokens_[first].at, tokens_[end].end(), with);
}

// A block has 48 KB for static shared memory, and nvcc refuses more: so does g++, of what is declared in a function
// up to here. What the functions have that it calls is seen by the trace (session.cpp).

void SharedText::limit_shared(std::size_t first) {
  if (!scopes_.in_function() || tokens_[first].in_directive) return;
  std::size_t i = first + 1;
  for (; i + 1 < tokens_.size() && !tokens_[i].is(";"); ++i) {
    const Token &t = tokens_[i], &next = tokens_[i + 1];
    if (is_closing(t)) return;
    if (is_opening(t)) {
      i = source_.closing(i).value_or(i);
    } else if (t.is("<")) {
      i = source_.closing_of_template(i).value_or(i);
    } else if (t.kind == Token::Kind::word && (next.is("[") || next.is(",") || next.is(";"))) {
      if (std::ranges::find(shared_, t.spelled, &Shared::name) == shared_.end())
        shared_.push_back({t.spelled, scopes_.size()});
    }
  }
  if (shared_.empty() || i >= tokens_.size() || !tokens_[i].is(";")) return;
  std::string bytes;
  for (const Shared& s : shared_) bytes += (bytes.empty() ? "sizeof(" : " + sizeof(") + std::string(s.name) + ")";
  source_.replace(tokens_[i].end(), tokens_[i].end(),
                  " static_assert(" + bytes + " <= 49152, \"of static shared memory\");");
}

}  // namespace ridge::lab
