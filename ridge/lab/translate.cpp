#include <ridge/core/text.hpp>
#include <ridge/lab/tokens.hpp>
#include <ridge/lab/translate.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace ridge::lab {
namespace {

// What nvcc's toolkit has beside the language and the runtime, as it is included.
struct Library {
  std::string_view begins, name;
};
constexpr std::array<Library, 16> libraries{{{"thrust/", "Thrust"},
                                             {"cub/", "CUB"},
                                             {"cublas", "cuBLAS"},
                                             {"cudnn", "cuDNN"},
                                             {"cufft", "cuFFT"},
                                             {"cusparse", "cuSPARSE"},
                                             {"cusolver", "cuSOLVER"},
                                             {"nccl", "NCCL"},
                                             {"nvrtc", "NVRTC"},
                                             {"cute/", "CuTe"},
                                             {"cutlass/", "CUTLASS"},
                                             {"npp", "NPP"},
                                             {"nvml", "NVML"},
                                             {"torch/", "PyTorch"},
                                             {"ATen/", "PyTorch"},
                                             {"opencv2/", "OpenCV"}}};

class Translator {
 public:
  Translator(std::string_view text, std::string file, FindInclude find_include)
      : text_(text), file_(std::move(file)), find_include_(std::move(find_include)), tokens_(tokens_of(text)) {}

  Result<std::string> translate() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      RIDGE_TRY(visit(i));
      if (!tokens_[i].in_directive) follow_braces(i);
    }
    std::ranges::stable_sort(edits_, {}, &Edit::begin);
    std::string result;
    std::size_t done = 0;
    for (const Edit& edit : edits_) {
      if (edit.begin < done) continue;  // within what another one has replaced
      result.append(text_.substr(done, edit.begin - done));
      const std::string ends = line_ends(edit.begin, edit.end);
      result += ends_directive(edit) ? ends + edit.with : edit.with + ends;
      done = edit.end;
    }
    return result.append(text_.substr(done));
  }

 private:
  // Text from begin to end is replaced. Line ends in it are kept.
  struct Edit {
    std::size_t begin = 0, end = 0;
    std::string with;
  };

  // Whether the edit begins behind a directive on its line, which ends within the edit.
  bool ends_directive(const Edit& edit) const {
    const auto next = std::ranges::lower_bound(tokens_, edit.begin, {}, &Token::at);
    if (next == tokens_.begin() || !std::prev(next)->in_directive) return false;
    for (std::size_t i = edit.begin; i < edit.end; ++i)
      if (text_[i] == '\n') return i == 0 || (text_[i - 1] != '\\' && text_.substr(i - 2, 2) != "\\\r");
    return false;
  }

  Status visit(std::size_t i) {
    const Token& t = tokens_[i];
    if (t.is("<<<")) return launch(i);
    if (t.kind != Token::Kind::word) return {};
    if (t.is("extern") || t.is("__shared__")) return shared_array(i);
    if (t.is("asm") || t.is("__asm__") || t.is("__asm")) inline_assembly(i);
    if (t.is("include") && i > 0 && tokens_[i - 1].begins_directive) return include(i);
    return {};
  }

  // ---- places -----------------------------------------------------------------------------------------------------

  std::string place(std::size_t at) const {
    return file_ + ":" + std::to_string(1 + std::ranges::count(text_.substr(0, at), '\n'));
  }
  Status refuse(std::size_t at, const std::string& what) const {
    return Status::error(Code::unsupported, place(at) + ": " + what);
  }

  // The line ends between two offsets, with the backslashes that continue a directive.
  std::string line_ends(std::size_t begin, std::size_t end) const {
    std::string ends;
    for (std::size_t i = begin; i < end; ++i)
      if (text_[i] == '\n') ends += i > 0 && (text_[i - 1] == '\\' || text_.substr(i - 2, 2) == "\\\r") ? "\\\n" : "\n";
    return ends;
  }

  // Text on one line, without comments: tokens, with a blank where there was any.
  std::string on_a_line(std::size_t first, std::size_t last) const {  // tokens, both included
    std::string line;
    for (std::size_t i = first; i <= last; ++i) {
      if (i > first && tokens_[i].at > tokens_[i - 1].end()) line += ' ';
      line += tokens_[i].spelled;
    }
    return line;
  }

  // The token that closes the bracket at `open`, or none.
  std::optional<std::size_t> closing(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < tokens_.size(); ++i) {
      if (is_opening(tokens_[i])) ++depth;
      if (is_closing(tokens_[i]) && --depth == 0) return i;
    }
    return std::nullopt;
  }
  std::optional<std::size_t> opening(std::size_t close) const {
    int depth = 0;
    for (std::size_t i = close + 1; i-- > 0;) {
      if (is_closing(tokens_[i])) ++depth;
      if (is_opening(tokens_[i]) && --depth == 0) return i;
    }
    return std::nullopt;
  }
  static bool is_opening(const Token& t) {
    return t.kind == Token::Kind::mark && (t.is("(") || t.is("[") || t.is("{"));
  }
  static bool is_closing(const Token& t) {
    return t.kind == Token::Kind::mark && (t.is(")") || t.is("]") || t.is("}"));
  }

  // ---- scopes -----------------------------------------------------------------------------------------------------

  void follow_braces(std::size_t i) {
    if (tokens_[i].kind != Token::Kind::mark) return;
    if (tokens_[i].is("{")) scopes_.push_back(opens_namespace(i));
    else if (tokens_[i].is("}") && !scopes_.empty()) scopes_.pop_back();
  }
  bool opens_namespace(std::size_t brace) const {
    std::size_t i = brace;
    while (i > 0 && (tokens_[i - 1].is("::") || tokens_[i - 1].kind == Token::Kind::word) &&
           !tokens_[i - 1].is("namespace"))
      --i;
    if (i > 0 && tokens_[i - 1].is("namespace")) return true;
    return brace > 1 && tokens_[brace - 1].kind == Token::Kind::text && tokens_[brace - 2].is("extern");
  }
  bool in_function() const {
    return std::ranges::any_of(scopes_, [](bool is_namespace) { return !is_namespace; });
  }

  // ---- kernel<<<grid, block, shared, stream>>>(arguments) ----------------------------------------------------------

  Status launch(std::size_t open) {
    const std::optional<std::size_t> first = begin_of_callee(open);
    if (!first) return refuse(tokens_[open].at, "'<<<' without a kernel's name before it");
    const std::optional<std::size_t> close = end_of_configuration(open);
    if (!close) return refuse(tokens_[open].at, "'<<<' is not closed by '>>>'");
    if (*close + 1 >= tokens_.size() || !tokens_[*close + 1].is("("))
      return refuse(tokens_[*close].at, "'>>>' must be followed by the kernel's arguments");
    const std::optional<std::size_t> end = closing(*close + 1);
    if (!end) return refuse(tokens_[*close].at, "the kernel's arguments have no end");

    const std::string kernel = on_a_line(*first, open - 1);
    edits_.push_back(
        {tokens_[*first].at, tokens_[open].end(),
         "::ridge::lab::Launch(::ridge::lab::LaunchSite{\"" + escaped(kernel) + "\", __FILE__, __LINE__}, "});
    std::string call = ").run([&](auto&... ridge_given) -> decltype(" + kernel + "(ridge_given...)) { " + kernel +
                       "(ridge_given...); }";
    if (*end > *close + 2) {
      // Arguments of a macro may be none.
      const bool of_macro = *end == *close + 3 && tokens_[*end - 1].is("__VA_ARGS__");
      call += of_macro ? " __VA_OPT__(,) " : ", ";
    }
    edits_.push_back({tokens_[*close].at, tokens_[*close + 1].end(), call});
    for (std::size_t i = *close + 2; i < *end; ++i)  // a null pointer whose type is that of an integer converts to none
      if (tokens_[i].is("NULL")) edits_.push_back({tokens_[i].at, tokens_[i].end(), "nullptr"});
    return {};
  }

  static std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
    return result;
  }

  // a::b<int>, f, (*pointer), table[i], object.member, object->member
  std::optional<std::size_t> begin_of_callee(std::size_t open) const {
    std::size_t i = open;  // the callee's tokens are from i on
    for (;;) {
      const std::optional<std::size_t> name = begin_of_name(i);
      if (!name) return std::nullopt;
      i = *name;
      if (i == 0) return i;
      const Token& before = tokens_[i - 1];
      if (before.is("::")) {
        --i;
        const bool has_scope = i > 0 && (tokens_[i - 1].is(">") || tokens_[i - 1].kind == Token::Kind::word);
        if (!has_scope || is_keyword(tokens_[i - 1])) return i;  // ::kernel
      } else if (before.is(".") || before.is("->")) {
        --i;
      } else if (before.is("template") && i > 1) {
        --i;
        if (!tokens_[i - 1].is("::") && !tokens_[i - 1].is(".") && !tokens_[i - 1].is("->")) return std::nullopt;
        --i;
      } else {
        return i;
      }
    }
  }
  static bool is_keyword(const Token& t) {
    return t.is("return") || t.is("else") || t.is("do") || t.is("case") || t.is("goto") || t.is("co_return");
  }

  // The first token of the name, with template arguments, brackets or a call's parentheses, that ends before `end`.
  std::optional<std::size_t> begin_of_name(std::size_t end) const {
    if (end == 0) return std::nullopt;
    std::size_t i = end - 1;
    if (tokens_[i].is(">") || tokens_[i].is(">>>")) {
      const std::optional<std::size_t> less = opening_of_template(i);
      if (!less || *less == 0) return std::nullopt;
      i = *less - 1;
    }
    while (tokens_[i].is("]") || tokens_[i].is(")")) {
      const std::optional<std::size_t> bracket = opening(i);
      if (!bracket) return std::nullopt;
      const bool is_alone =
          tokens_[*bracket].is("(") &&
          (*bracket == 0 || tokens_[*bracket - 1].kind != Token::Kind::word || is_keyword(tokens_[*bracket - 1]));
      if (is_alone) return *bracket;  // (kernel)
      if (*bracket == 0) return std::nullopt;
      i = *bracket - 1;
    }
    if (tokens_[i].kind != Token::Kind::word) return std::nullopt;
    return i;
  }

  std::optional<std::size_t> opening_of_template(std::size_t close) const {
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

  std::optional<std::size_t> end_of_configuration(std::size_t open) const {
    for (std::size_t i = open + 1; i < tokens_.size(); ++i) {
      if (tokens_[i].is(">>>")) return i;
      if (is_opening(tokens_[i])) {
        const std::optional<std::size_t> end = closing(i);
        if (!end) return std::nullopt;
        i = *end;
      } else if (is_closing(tokens_[i]) || tokens_[i].is(";")) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  // ---- extern __shared__ float a[], b[]; ---------------------------------------------------------------------------

  Status shared_array(std::size_t first) {
    if (first < shared_until_) return {};
    if (tokens_[first].is("__shared__") && first + 1 < tokens_.size() && !tokens_[first + 1].is("extern")) {
      // Shared memory is static in any case, and a word said twice is an error.
      for (const std::size_t other : {first - 1, first + 1})
        if (other < tokens_.size() && tokens_[other].is("static"))
          edits_.push_back({tokens_[other].at, tokens_[other].end(), ""});
      if (first == 0 || !tokens_[first - 1].is("extern")) static_shared(first);
      return {};
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
        const std::optional<std::size_t> end = i + 1 < tokens_.size() ? closing(i + 1) : std::nullopt;
        if (!end) return {};
        i = *end;
      } else if (t.is("(") || t.is("{") || t.is("}") || t.is("=") || t.kind == Token::Kind::text) {
        return {};  // a function, a scope or a variable that is no array without a size
      } else if (i + 2 < tokens_.size() && t.kind == Token::Kind::word && tokens_[i + 1].is("[") &&
                 tokens_[i + 2].is("]")) {
        names.emplace_back(t.spelled);
        i += 2;
        extents.emplace_back();
        while (i + 1 < tokens_.size() && tokens_[i + 1].is("[")) {  // of rows: [][8]
          const std::optional<std::size_t> end = closing(i + 1);
          if (!end) return {};
          extents.back() += on_a_line(i + 1, *end);
          i = *end;
        }
      } else if (names.empty()) {
        type += (type.empty() ? "" : " ") + std::string(t.spelled);
      } else if (!t.is(",")) {
        return {};
      }
      if (i > first + 1 && !is_shared && !is_extern) return {};
    }
    if (!is_extern || !is_shared || names.empty() || i == tokens_.size()) return {};
    shared_until_ = i;
    std::string with;
    for (std::size_t n = 0; n < names.size(); ++n) {
      const std::string pointer = type + (extents[n].empty() ? "*" : " (*)" + extents[n]);
      with += in_function()
                  ? "[[maybe_unused]] auto* const " + names[n] + " = static_cast<" + pointer +
                        ">(::ridge::simt::detail::dynamic_shared_memory()); "
                  : "[[maybe_unused]] static constexpr ::ridge::lab::DynamicShared<" + type + "> " + names[n] + "{}; ";
    }
    edits_.push_back({tokens_[first].at, tokens_[i].end(), with});
    return {};
  }

  // ---- __shared__ half a[32][8], b; --------------------------------------------------------------------------------
  // A variable of a class with constructors has a guard, which g++ would check, and the modes see, at each access: so
  // the class is put into one without (launch.hpp). Built-in types stay as they are.

  void static_shared(std::size_t first) {
    static constexpr std::array<std::string_view, 14> built_in{"float",  "double", "int",    "unsigned", "char",
                                                               "short",  "long",   "bool",   "signed",   "uint32_t",
                                                               "size_t", "float4", "float2", "int4"};
    std::string align, type;
    std::size_t i = first + 1;
    const auto is_type = [&](const Token& t) { return std::ranges::find(built_in, t.spelled) != built_in.end(); };
    for (; i + 1 < tokens_.size(); ++i) {  // up to the first declarator: a word before [ , ; or =
      const Token& t = tokens_[i];
      if (t.is("__align__") || t.is("alignas") || t.is("__attribute__")) {
        const std::optional<std::size_t> end = closing(i + 1);
        if (!end) return;
        if (t.is("alignas")) edits_.push_back({t.at, t.end(), "__align__"});  // before a type g++ takes no other
        align += (t.is("alignas") ? "__align__(" + on_a_line(i + 2, *end - 1) + ")" : on_a_line(i, *end)) + " ";
        i = *end;
      } else if (is_type(t)) {
        return;
      } else if (t.is("<")) {
        const std::optional<std::size_t> end = closing_of_template(i);
        if (!end) return;
        type += on_a_line(i, *end);
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
        const std::optional<std::size_t> close = closing(end);
        if (!close) return;
        end = *close + 1;
      }
      if (end >= tokens_.size() || tokens_[name].kind != Token::Kind::word) return;
      const std::string called(tokens_[name].spelled);
      const std::string extents = end > name + 1 ? on_a_line(name + 1, end - 1) : "";
      with += "typedef" + type + " ridge_type_of_" + called + extents + "; __shared__ " + align +
              "::ridge::lab::Shared<ridge_type_of_" + called + "> ridge_place_of_" + called + "; ridge_type_of_" +
              called + "& " + called + " = ridge_place_of_" + called + ".value; ";
      if (tokens_[end].is(";")) break;
      if (!tokens_[end].is(",")) return;
    }
    if (end >= tokens_.size()) return;
    const bool qualified = first > 0 && (tokens_[first - 1].is("volatile") || tokens_[first - 1].is("const"));
    if (!qualified && first > 0 && (tokens_[first - 1].kind == Token::Kind::word || !in_function())) return;
    edits_.push_back({tokens_[first].at, tokens_[end].end(), with});
  }

  std::optional<std::size_t> closing_of_template(std::size_t open) const {
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

  // ---- asm volatile("..." : outputs : inputs : clobbers) -----------------------------------------------------------

  struct AsmOperand {
    std::string_view name;              // of [name], or empty
    std::size_t first, constraint_end;  // tokens: the constraint's first, and the '(' after it
    std::size_t close;                  // the ')' after the expression
    bool is_output;
  };

  void inline_assembly(std::size_t first) {
    std::size_t open = first + 1;
    bool jumps = false;
    for (; open < tokens_.size() && tokens_[open].kind == Token::Kind::word; ++open) jumps |= tokens_[open].is("goto");
    if (!in_function() && !tokens_[first].in_directive) return;
    if (open >= tokens_.size() || !tokens_[open].is("(")) return;
    const std::optional<std::size_t> close = closing(open);
    if (!close || *close == open + 1) return;
    std::size_t end = open + 1;  // of the instructions
    while (end < *close && !tokens_[end].is(":") && !tokens_[end].is("::")) ++end;
    const std::optional<std::vector<AsmOperand>> operands = asm_operands(end, *close);
    if (operands && std::ranges::any_of(*operands, [&](const AsmOperand& o) { return !is_ptx(o); })) return;
    if (end == open + 1) return;

    const auto replace = [&](std::size_t from, std::size_t to, std::string with) {
      edits_.push_back({from, to, std::move(with)});
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
    for (const AsmOperand& o : *operands) {
      replace(done, tokens_[o.first].at,
              before + (o.is_output ? ", ::ridge::lab::written(" : ", ::ridge::lab::given("));
      replace(tokens_[o.constraint_end - 1].end(), tokens_[o.constraint_end].end(), ", ");
      done = tokens_[o.close].at;
      before = o.name.empty() ? ")" : ", \"" + std::string(o.name) + "\")";
    }
    replace(done, tokens_[*close].end(), before + ")");
  }

  // The operands between the first ':' and the closing parenthesis; none if they cannot be told apart, as where a macro
  // makes them.
  std::optional<std::vector<AsmOperand>> asm_operands(std::size_t begin, std::size_t close) const {
    std::vector<AsmOperand> operands;
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
      AsmOperand o{.name = {}, .first = i, .constraint_end = 0, .close = 0, .is_output = section == 1};
      if (tokens_[i].is("[")) {
        if (i + 3 >= close || !tokens_[i + 2].is("]")) return std::nullopt;
        o.name = tokens_[i + 1].spelled;
        o.first = i += 3;
      }
      while (i < close && is_constraint(tokens_[i])) ++i;
      if (i == o.first || i >= close || !tokens_[i].is("(")) return std::nullopt;
      const std::optional<std::size_t> end = closing(i);
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
  bool is_ptx(const AsmOperand& o) const {
    for (std::size_t i = o.first; i < o.constraint_end; ++i)
      if (tokens_[i].kind == Token::Kind::text &&
          tokens_[i].spelled.find_first_not_of("\"=+&rlhfdnC0123456789") != std::string_view::npos)
        return false;
    return true;
  }

  // ---- includes ---------------------------------------------------------------------------------------------------

  Status include(std::size_t i) {
    const std::size_t begin = tokens_[i].end();
    std::string_view rest = text_.substr(begin, text_.find('\n', begin) - begin);
    const std::size_t open = rest.find_first_of("<\"");
    if (open == rest.npos) return {};
    const std::size_t close = rest.find(rest[open] == '<' ? '>' : '"', open + 1);
    if (close == rest.npos) return {};
    const std::string_view name = rest.substr(open + 1, close - open - 1);
    if (const std::optional<std::string> copy = find_include_ ? find_include_(name) : std::nullopt) {
      edits_.push_back({begin + open, begin + close + 1, "\"" + *copy + "\""});
      return {};
    }
    // An error where it is compiled, which it need not be.
    for (const Library& library : libraries)
      if (name.starts_with(library.begins))
        edits_.push_back({tokens_[i].at, begin + close + 1,
                          "error " + std::string(library.name) + " (" + std::string(name) +
                              ") is not emulated: the lab runs the kernels of your own files"});
    return {};
  }

  std::string_view text_;
  std::string file_;
  FindInclude find_include_;
  std::vector<Token> tokens_;
  std::vector<Edit> edits_;
  std::vector<bool> scopes_;  // whether each open brace is a namespace's
  std::size_t shared_until_ = 0;
};

}  // namespace

Result<std::string> translate(std::string_view text, const std::string& file_name, FindInclude find_include) {
  return Translator(text, file_name, std::move(find_include)).translate();
}

}  // namespace ridge::lab
