#include <ridge/lab/launch_text.hpp>
#include <ridge/lab/timed.hpp>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace ridge::lab {
namespace {

// The launch's configuration, which has been evaluated by then: once, as without us.
constexpr std::string_view same_configuration =
    "<<<::ridge_lab_time::launch_grid(), ::ridge_lab_time::launch_block(), ::ridge_lab_time::launch_shared(), "
    "::ridge_lab_time::launch_stream()>>>";

// In parentheses: braces would not keep commas together where this is the argument of a macro.
std::string site_of(const std::string& kernel) {
  return "::ridge_lab_time::LaunchSite(" + literal_of(kernel) + ", __FILE__, __LINE__)";
}

class Timed {
 public:
  Timed(std::string_view text, std::string file, FindInclude find_include)
      : source_(text, std::move(file)), find_include_(std::move(find_include)) {}

  Result<std::string> text() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      RIDGE_TRY(visit(i));
      if (tokens_[i].in_directive) follow_condition(i);
      else follow_braces(i);
    }
    return source_.edited();
  }

 private:
  Status visit(std::size_t i) {
    const Token& t = tokens_[i];
    if (t.is("<<<") && !is_of_device()) return launch(i);
    if (t.is("cudaLaunchKernel") && is_call(i))
      source_.replace(t.at, t.end(), "ridge_lab_time::LaunchKernel(" + site_of("cudaLaunchKernel") + ")");
    if (t.is("cudaDeviceReset") && is_call(i)) source_.replace(t.at, t.end(), "ridge_lab_time::reset_device");
    if (t.is("include") && i > 0 && tokens_[i - 1].begins_directive) include(i);
    return {};
  }

  Status launch(std::size_t open) {
    const Result<LaunchText> found = launch_at(source_, open);
    if (!found) return found.error();
    const Token &first = tokens_[found->kernel], &close = tokens_[found->close], &end = tokens_[found->end];
    source_.replace(first.at, tokens_[open].end(),
                    "(::ridge_lab_time::begin_launch(" + site_of(found->called) + ", ::ridge_lab_time::LaunchConfig(");
    source_.replace(close.at, close.end(), ")), " + found->called + std::string(same_configuration));
    source_.replace(end.end(), end.end(), ", ::ridge_lab_time::end_launch())");
    return {};
  }

  // Whether a function's name is called: not declared, nor a member's.
  bool is_call(std::size_t i) const {
    if (is_of_device() || i + 1 >= tokens_.size() || !tokens_[i + 1].is("(")) return false;
    if (i == 0) return true;
    const Token& before = tokens_[i - 1];
    return before.is("::") ? i < 2 || tokens_[i - 2].kind != Token::Kind::word || is_keyword(tokens_[i - 2])
                           : !before.is(".") && !before.is("->") &&
                                 (before.kind != Token::Kind::word || is_keyword(before) || before.in_directive);
  }

  void include(std::size_t i) {
    const std::string_view written = source_.included_name(i);
    if (written.empty() || !find_include_) return;
    if (const std::optional<std::string> copy = find_include_(written.substr(1, written.size() - 2)))
      source_.replace(source_.offset(written), source_.offset(written) + written.size(), "\"" + *copy + "\"");
  }

  // ---- what is the device's -----------------------------------------------------------------------------------------

  bool is_of_device() const { return std::ranges::find(scopes_, true) != scopes_.end(); }

  void follow_braces(std::size_t i) {
    if (tokens_[i].kind != Token::Kind::mark) return;
    if (tokens_[i].is("{")) scopes_.push_back(opens_device_code(i));
    else if (tokens_[i].is("}") && !scopes_.empty()) scopes_.pop_back();
  }

  // Each branch of a condition begins with the braces that were open before it.
  void follow_condition(std::size_t i) {
    if (i == 0 || !tokens_[i - 1].begins_directive) return;
    const Token& t = tokens_[i];
    if (t.is("if") || t.is("ifdef") || t.is("ifndef")) before_conditions_.push_back(scopes_);
    if (before_conditions_.empty()) return;
    if (t.is("else") || t.is("elif")) scopes_ = before_conditions_.back();
    if (t.is("endif")) before_conditions_.pop_back();
  }

  // Whether __global__ or __device__ is said of the function, or the lambda, whose body begins here.
  bool opens_device_code(std::size_t brace) const {
    for (std::size_t i = brace; i-- > 0;) {
      const Token& t = tokens_[i];
      if (t.in_directive) continue;
      if (t.is("__global__") || t.is("__device__")) return true;
      if (t.is(")") || t.is("]")) {
        const std::optional<std::size_t> bracket = source_.opening(i);
        if (!bracket) return false;
        i = *bracket;
      } else if (t.is(";") || t.is("{") || t.is("}") || is_opening(t)) {
        return false;
      }
    }
    return false;
  }

  SourceText source_;
  FindInclude find_include_;
  const std::vector<Token>& tokens_ = source_.tokens();
  std::vector<bool> scopes_;  // whether each open brace is a device function's
  std::vector<std::vector<bool>> before_conditions_;
};

}  // namespace

Result<std::string> time_launches(std::string_view text, const std::string& file_name, FindInclude find_include) {
  return Timed(text, file_name, std::move(find_include)).text();
}

bool has_launches_of_kernels(std::string_view timed) {
  const std::vector<Token> tokens = tokens_of(timed);
  for (std::size_t i = 0; i + 2 < tokens.size(); ++i)
    if (tokens[i].is("<<<") && !(tokens[i + 1].is("::") && tokens[i + 2].is("ridge_lab_time"))) return true;
  return false;
}

}  // namespace ridge::lab
