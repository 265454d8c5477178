#include <ridge/core/text.hpp>
#include <ridge/lab/assembly_text.hpp>
#include <ridge/lab/launch_text.hpp>
#include <ridge/lab/scopes.hpp>
#include <ridge/lab/shared_text.hpp>
#include <ridge/lab/source_text.hpp>
#include <ridge/lab/translate.hpp>
#include <ridge/lab/unroll_text.hpp>

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
constexpr std::array<Library, 18> libraries{{{"thrust/", "Thrust"},
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
                                             {"opencv2/", "OpenCV"},
                                             {"cuda_gl_interop", "OpenGL"},
                                             {"helper_image", "NVIDIA's helper for images"}}};

class Translator {
 public:
  Translator(std::string_view text, std::string file, FindInclude find_include)
      : source_(text, std::move(file)), find_include_(std::move(find_include)) {}

  Result<std::string> translate() {
    find_kernels();
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      RIDGE_TRY(visit(i));
      if (tokens_[i].in_directive) continue;
      scopes_.follow(i);
      shared_.follow_scopes();
    }
    return source_.edited();
  }

 private:
  Status visit(std::size_t i) {
    const Token& t = tokens_[i];
    if (t.is("<<<")) return launch(i);
    if (t.is("(")) kernel_cast(i);
    if (t.kind == Token::Kind::text) translate_unroll(source_, i);
    if (t.kind != Token::Kind::word) return {};
    if (t.in_directive && i > 0 && tokens_[i - 1].begins_directive) shared_.follow_condition(t);
    if (t.is("__global__") || t.is("__device__")) shared_.begin_function();
    if (t.is("extern") || t.is("__shared__")) shared_.declaration(i);
    if (t.is("cudaLaunchKernel")) launch_by_function(i);
    if (t.is("reinterpret_cast")) kernel_cast(i);
    if (t.is("asm") || t.is("__asm__") || t.is("__asm")) translate_assembly(source_, i, scopes_.in_function());
    if (t.is("unroll")) translate_unroll(source_, i);
    if (t.is("include") && i > 0 && tokens_[i - 1].begins_directive) include(i);
    return {};
  }

  // ---- kernel<<<grid, block, shared, stream>>>(arguments) ----------------------------------------------------------

  Status launch(std::size_t open) {
    const Result<LaunchText> found = launch_at(source_, open);
    if (!found) return found.error();
    const auto& [kernel, begin, close, end, called] = *found;
    source_.replace(tokens_[kernel].at, tokens_[begin].end(),
                    "::ridge::lab::Launch(::ridge::lab::LaunchSite{" + literal_of(called) + ", __FILE__, __LINE__}, ");
    std::string call = ")" + asked_address(*found) + ".run([&](auto&... ridge_given) -> decltype(" + called +
                       "(ridge_given...)) { " + called + "(ridge_given...); }";
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

  // Which kernel it is, of a name that may be a pointer's. Of a kernel's own the text says it, or the instance of the
  // template that launches it; and to ask for the address of a template's would have g++ lose its lines' file.
  std::string asked_address(const LaunchText& launch) const {
    const std::string_view name = tokens_[launch.open - 1].spelled;
    if (launch.called.find('<') != launch.called.npos || std::ranges::find(kernels_, name) != kernels_.end()) return {};
    return ".of([&](auto... ridge_none) -> decltype(::ridge::lab::address_of(" + launch.called +
           ", ridge_none...)) { return ::ridge::lab::address_of(" + launch.called + ", ridge_none...); })";
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
  Scopes scopes_{source_};
  SharedText shared_{source_, scopes_};
  std::vector<std::string_view> kernels_;
};

}  // namespace

Result<std::string> translate(std::string_view text, const std::string& file_name, FindInclude find_include) {
  return Translator(text, file_name, std::move(find_include)).translate();
}

}  // namespace ridge::lab
