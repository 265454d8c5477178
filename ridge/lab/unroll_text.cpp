#include <ridge/lab/unroll_text.hpp>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

namespace ridge::lab {
namespace {

// A loop without a number is unrolled if it goes round this often at most. So is one with a template's parameter or
// another expression: g++ takes none that depends on a template.
constexpr int most_unrolled = 64;

// What g++ is told for "", "8", "(8)", "N"; unrolled() is in cuda.hpp.
std::string pragma(std::string_view written) {
  const std::size_t digits = std::min(written.find_first_not_of("( \t"), written.size());
  int factor = most_unrolled;
  const auto [end, error] = std::from_chars(written.data() + digits, written.data() + written.size(), factor);
  const bool is_number =
      error == std::errc() && written.find_first_not_of(") \tuUlL", end - written.data()) == written.npos;
  return "GCC unroll ::ridge::lab::unrolled(" +
         std::to_string(is_number ? std::clamp(factor, 0, 65534) : most_unrolled) + ")";
}

// g++ takes the pragma before a loop alone, where nvcc passes it over before all else: also before a macro that may be
// a loop, which is not to be seen here.
bool is_loop(const SourceText& source, std::size_t i) {
  const std::vector<Token>& tokens = source.tokens();
  return i < tokens.size() && (tokens[i].is("for") || tokens[i].is("while") || tokens[i].is("do"));
}

}  // namespace

void translate_unroll(SourceText& source, std::size_t i) {
  const std::vector<Token>& tokens = source.tokens();
  if (tokens[i].is("unroll")) {  // # pragma unroll N
    if (i < 2 || !tokens[i - 1].is("pragma") || !tokens[i - 2].begins_directive) return;
    std::size_t end = i + 1;
    while (end < tokens.size() && tokens[end].in_directive && !tokens[end].begins_directive) ++end;
    if (!is_loop(source, end)) return;
    const std::string written = end > i + 1 ? source.on_a_line(i + 1, end - 1) : "";
    source.replace(tokens[i].at, tokens[end - 1].end(), pragma(written));
    return;
  }
  // _Pragma("unroll N")
  const std::string_view text = tokens[i].spelled;
  if (!text.starts_with("\"unroll") || i < 2 || !tokens[i - 1].is("(") || !tokens[i - 2].is("_Pragma")) return;
  if (i + 1 >= tokens.size() || !tokens[i + 1].is(")") || !is_loop(source, i + 2)) return;
  const std::string_view written = text.substr(7, text.size() - 8);
  source.replace(tokens[i].at, tokens[i].end(), "\"" + pragma(written) + "\"");
}

}  // namespace ridge::lab
