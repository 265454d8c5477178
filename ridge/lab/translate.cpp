#include <ridge/core/text.hpp>
#include <ridge/lab/launch_text.hpp>
#include <ridge/lab/source_text.hpp>
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
      : source_(text, std::move(file)), find_include_(std::move(find_include)) {}

  Result<std::string> translate() {
    find_kernels();
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      RIDGE_TRY(visit(i));
      if (!tokens_[i].in_directive) follow_braces(i);
    }
    return source_.edited();
  }

 private:
  Status visit(std::size_t i) {
    const Token& t = tokens_[i];
    if (t.is("<<<")) return launch(i);
    if (t.is("(")) kernel_cast(i);
    if (t.kind != Token::Kind::word) return {};
    if (t.in_directive && i > 0 && tokens_[i - 1].begins_directive) follow_condition(t);
    if (t.is("__global__") || t.is("__device__")) shared_.clear();  // another function
    if (t.is("extern") || t.is("__shared__")) return shared_array(i);
    if (t.is("cudaLaunchKernel")) launch_by_function(i);
    if (t.is("reinterpret_cast")) kernel_cast(i);
    if (t.is("asm") || t.is("__asm__") || t.is("__asm")) inline_assembly(i);
    if (t.is("include") && i > 0 && tokens_[i - 1].begins_directive) include(i);
    return {};
  }

  // ---- scopes -----------------------------------------------------------------------------------------------------

  void follow_braces(std::size_t i) {
    if (tokens_[i].kind != Token::Kind::mark) return;
    if (tokens_[i].is("{")) scopes_.push_back(opens_namespace(i));
    else if (tokens_[i].is("}") && !scopes_.empty()) scopes_.pop_back();
    std::erase_if(shared_, [&](const Shared& s) { return s.scopes > scopes_.size(); });
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

  // What a branch of a condition declares is not there after it.
  void follow_condition(const Token& directive) {
    if (directive.spelled.starts_with("if")) return conditions_.push_back(shared_.size());
    const bool ends = directive.is("else") || directive.spelled.starts_with("elif") || directive.is("endif");
    if (conditions_.empty() || !ends) return;
    shared_.resize(std::min(shared_.size(), conditions_.back()));
    if (directive.is("endif")) conditions_.pop_back();
  }

  // ---- kernel<<<grid, block, shared, stream>>>(arguments) ----------------------------------------------------------

  Status launch(std::size_t open) {
    const Result<LaunchText> found = launch_at(source_, open);
    if (!found) return found.error();
    const auto& [kernel, begin, close, end, called] = *found;
    source_.replace(tokens_[kernel].at, tokens_[begin].end(),
                    "::ridge::lab::Launch(::ridge::lab::LaunchSite{" + literal_of(called) + ", __FILE__, __LINE__}, ");
    std::string call = ").run([&](auto&... ridge_given) -> decltype(" + called + "(ridge_given...)) { " + called +
                       "(ridge_given...); }";
    if (end > close + 2) {
      // Arguments of a macro may be none.
      const bool of_macro = end == close + 3 && tokens_[end - 1].is("__VA_ARGS__");
      call += of_macro ? " __VA_OPT__(,) " : ", ";
    }
    source_.replace(tokens_[close].at, tokens_[close + 1].end(), call);
    for (std::size_t i = close + 2; i < end; ++i)  // a null pointer whose type is that of an integer converts to none
      if (tokens_[i].is("NULL")) source_.replace(tokens_[i].at, tokens_[i].end(), "nullptr");
    const std::vector<LaunchArgument> arguments = arguments_of(source_, *found);
    for (std::size_t n = 0; n < arguments.size(); ++n) launch_argument(called, n, arguments[n]);
    return {};
  }

  // What an argument is only to the kernel itself, and not to Launch::run(), which passes it on: a literal 0 may be a
  // null pointer, and braces have the parameter's type.
  void launch_argument(const std::string& kernel, std::size_t number, const LaunchArgument& argument) {
    const Token& first = tokens_[argument.begin];
    const bool is_one = argument.end == argument.begin + 1;
    if (is_one && first.is("0")) source_.replace(first.at, first.end(), "::ridge::lab::Zero{}");
    if (first.is("{") && source_.closing(argument.begin) == argument.end - 1)
      source_.replace(first.at, first.at,
                      "::ridge::lab::Parameter<" + std::to_string(number) + ", decltype(" + kernel + ")>");
  }

  // ---- (const void*)kernel, cudaLaunchKernel((const void*)kernel, ...) ----------------------------------------------
  // A pointer to void has lost what a launch must know of the kernel: so it is kept where it is lost.

  // The names that are declared with __global__.
  void find_kernels() {
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (tokens_[i].is("__global__") && !tokens_[i].in_directive) add_kernel(i + 1);
  }
  void add_kernel(std::size_t i) {
    for (; i + 1 < tokens_.size(); ++i) {
      const Token &t = tokens_[i], &next = tokens_[i + 1];
      if (t.is(";") || t.is("{")) return;
      if (t.kind != Token::Kind::word || (!next.is("(") && !next.is("<"))) continue;
      std::optional<std::size_t> end = i;
      if (next.is("<")) end = source_.closing_of_template(i + 1);
      if (!end || *end + 1 >= tokens_.size()) return;
      if (tokens_[*end + 1].is("(") && !t.spelled.starts_with("__")) {
        kernels_.emplace_back(t.spelled);
        return;
      }
      if (tokens_[*end + 1].is("(")) end = source_.closing(*end + 1);  // __launch_bounds__(256)
      if (!end) return;
      i = *end;
    }
  }

  // After a cast to a pointer to void that begins at a token; none where there is none.
  std::optional<std::size_t> end_of_cast(std::size_t i) const {
    const auto is_here = [&](std::string_view what) {
      const bool is = i < tokens_.size() && tokens_[i].is(what);
      i += is;
      return is;
    };
    const bool by_name = is_here("reinterpret_cast");
    if (!is_here(by_name ? "<" : "(")) return std::nullopt;
    is_here("const");
    if (!is_here("void")) return std::nullopt;
    is_here("const");
    if (!is_here("*") || !is_here(by_name ? ">" : ")")) return std::nullopt;
    return i;
  }

  // The kernel's address is told to the runtime, and what its parameters are.
  void kernel_cast(std::size_t first) {
    std::optional<std::size_t> i = end_of_cast(first);
    if (!i) return;
    const bool by_name = tokens_[first].is("reinterpret_cast");
    if (by_name) ++*i;  // its parenthesis
    const std::size_t begin = *i;
    if (*i < tokens_.size() && tokens_[*i].is("&")) ++*i;
    std::size_t name = tokens_.size();  // the last one of a::b::kernel
    for (; *i < tokens_.size() && (tokens_[*i].is("::") || tokens_[*i].kind == Token::Kind::word); ++*i)
      if (!tokens_[*i].is("::")) name = *i;
    if (name == tokens_.size() || std::ranges::find(kernels_, tokens_[name].spelled) == kernels_.end()) return;
    std::size_t last = *i - 1;
    if (*i < tokens_.size() && tokens_[*i].is("<")) last = source_.closing_of_template(*i).value_or(last);
    source_.replace(tokens_[begin].at, tokens_[begin].at, "::ridge::lab::known(");
    source_.replace(tokens_[last].end(), tokens_[last].end(), ")");
  }

  // Without the cast of its first argument the call knows the type by itself, also that of a template's parameter.
  void launch_by_function(std::size_t call) {
    const std::size_t first = call + 2;
    if (first >= tokens_.size() || !tokens_[call + 1].is("(")) return;
    const std::optional<std::size_t> end = end_of_cast(first);
    if (end) source_.replace(tokens_[first].at, tokens_[*end - 1].end(), "");
  }

  // ---- extern __shared__ float a[], b[]; ---------------------------------------------------------------------------

  Status shared_array(std::size_t first) {
    if (first < shared_until_) return {};
    if (tokens_[first].is("__shared__") && first + 1 < tokens_.size() && !tokens_[first + 1].is("extern")) {
      // Shared memory is static in any case, and a word said twice is an error.
      for (const std::size_t other : {first - 1, first + 1})
        if (other < tokens_.size() && tokens_[other].is("static"))
          source_.replace(tokens_[other].at, tokens_[other].end(), "");
      if (first == 0 || !tokens_[first - 1].is("extern")) {
        static_shared(first);
        limit_shared(first);
      }
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
        const std::optional<std::size_t> end = i + 1 < tokens_.size() ? source_.closing(i + 1) : std::nullopt;
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
          const std::optional<std::size_t> end = source_.closing(i + 1);
          if (!end) return {};
          extents.back() += source_.on_a_line(i + 1, *end);
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
    source_.replace(tokens_[first].at, tokens_[i].end(), with);
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
    if (!qualified && first > 0 && (tokens_[first - 1].kind == Token::Kind::word || !in_function())) return;
    source_.replace(tokens_[first].at, tokens_[end].end(), with);
  }

  // A block has 48 KB for static shared memory, and nvcc refuses more: so does g++, of what is declared in a function
  // up to here. What the functions have that it calls is seen by the trace (session.cpp).

  void limit_shared(std::size_t first) {
    if (!in_function() || tokens_[first].in_directive) return;
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
    const std::optional<std::size_t> close = source_.closing(open);
    if (!close || *close == open + 1) return;
    std::size_t end = open + 1;  // of the instructions
    while (end < *close && !tokens_[end].is(":") && !tokens_[end].is("::")) ++end;
    const std::optional<std::vector<AsmOperand>> operands = asm_operands(end, *close);
    if (operands && std::ranges::any_of(*operands, [&](const AsmOperand& o) { return !is_ptx(o); })) return;
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
  bool is_ptx(const AsmOperand& o) const {
    for (std::size_t i = o.first; i < o.constraint_end; ++i)
      if (tokens_[i].kind == Token::Kind::text &&
          tokens_[i].spelled.find_first_not_of("\"=+&rlhfdnC0123456789") != std::string_view::npos)
        return false;
    return true;
  }

  // ---- includes ---------------------------------------------------------------------------------------------------

  void include(std::size_t i) {
    const std::string_view written = source_.included_name(i);
    if (written.empty()) return;
    const std::string_view name = written.substr(1, written.size() - 2);
    const std::size_t end = source_.offset(written) + written.size();
    if (const std::optional<std::string> copy = find_include_ ? find_include_(name) : std::nullopt) {
      source_.replace(source_.offset(written), end, "\"" + *copy + "\"");
      return;
    }
    // An error where it is compiled, which it need not be.
    for (const Library& library : libraries)
      if (name.starts_with(library.begins))
        source_.replace(tokens_[i].at, end,
                        "error " + std::string(library.name) + " (" + std::string(name) +
                            ") is not emulated: the lab runs the kernels of your own files");
  }

  SourceText source_;
  FindInclude find_include_;
  const std::vector<Token>& tokens_ = source_.tokens();
  std::vector<bool> scopes_;  // whether each open brace is a namespace's
  std::vector<std::string_view> kernels_;
  struct Shared {
    std::string_view name;
    std::size_t scopes;  // how many were open
  };
  std::vector<Shared> shared_;           // static, and to be seen here
  std::vector<std::size_t> conditions_;  // for each open #if, how many there were before it
  std::size_t shared_until_ = 0;
};

}  // namespace

Result<std::string> translate(std::string_view text, const std::string& file_name, FindInclude find_include) {
  return Translator(text, file_name, std::move(find_include)).translate();
}

}  // namespace ridge::lab
