#include <ridge/simt/trace/symbols.hpp>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

namespace ridge::simt::trace {
namespace {

namespace fs = std::filesystem;

// ---- loaded objects ----------------------------------------------------------------------------------------------

struct Object {
  std::string path;
  std::uintptr_t base = 0;
  auto operator<=>(const Object&) const = default;
};

// The file that an address of this process was loaded from. Programs that are not position-independent have no base.
Object object_of(std::uintptr_t address) {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(address), &info) || !info.dli_fname) return {};
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path named = info.dli_fname;
  // The program's own entry has the name it was called by, which need not be a path.
  const bool program = !fs::exists(named, error) || fs::equivalent(named, self, error);
  const auto base = reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  constexpr std::uintptr_t fixed_programs = 0x400000;
  return {program ? self.string() : named.string(), base == fixed_programs ? 0 : base};
}

// ---- addr2line ---------------------------------------------------------------------------------------------------

struct Frame {
  std::string function, place;
};

// Runs addr2line with the addresses in a file, and returns its lines.
std::vector<std::string> ask(const Object& object, const std::vector<std::uintptr_t>& addresses) {
  std::error_code error;
  std::string list = (fs::temp_directory_path(error) / "ridge-trace-XXXXXX").string();
  const int file = mkstemp(list.data());
  if (file < 0) return {};
  std::string text;
  for (const std::uintptr_t address : addresses) {
    char line[32];
    std::snprintf(line, sizeof line, "%#zx\n", static_cast<std::size_t>(address - object.base));
    text += line;
  }
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  std::vector<std::string> lines;
  int answer[2];
  if (written && pipe(answer) == 0) {
    const pid_t child = fork();
    if (child == 0) {
      dup2(answer[1], STDOUT_FILENO);
      close(answer[0]);
      close(answer[1]);
      if (!freopen("/dev/null", "w", stderr)) _exit(127);
      const std::string from = "@" + list;
      execlp("addr2line", "addr2line", "-a", "-f", "-C", "-i", "-e", object.path.c_str(), from.c_str(), nullptr);
      _exit(127);
    }
    close(answer[1]);
    if (FILE* out = child > 0 ? fdopen(answer[0], "r") : nullptr) {
      char* line = nullptr;
      std::size_t size = 0;
      for (ssize_t n; (n = getline(&line, &size, out)) > 0;)
        lines.emplace_back(line, static_cast<std::size_t>(line[n - 1] == '\n' ? n - 1 : n));
      std::free(line);
      std::fclose(out);
    } else {
      close(answer[0]);
    }
    if (child > 0) waitpid(child, nullptr, 0);
  }
  unlink(list.c_str());
  return lines;
}

// The frames of each address, innermost first. addr2line prints the address, then two lines for each frame.
std::vector<std::vector<Frame>> frames_of(const Object& object, const std::vector<std::uintptr_t>& addresses) {
  std::vector<std::vector<Frame>> frames;
  const std::vector<std::string> lines = ask(object, addresses);
  for (std::size_t i = 0; i < lines.size();) {
    if (lines[i].starts_with("0x")) {
      frames.emplace_back();
      ++i;
    } else if (i + 1 < lines.size() && !frames.empty()) {
      frames.back().push_back({lines[i], lines[i + 1]});
      i += 2;
    } else {
      break;
    }
  }
  frames.resize(addresses.size());
  return frames;
}

// ---- lines -------------------------------------------------------------------------------------------------------

// Whether a file is a header of the compiler or the vocabulary: a kernel's line is where these are used.
bool is_vocabulary(std::string_view file) {
  if (file.starts_with("/usr/")) return true;
  if (!file.ends_with(".hpp")) return false;
  if (file.rfind("ridge/lab/") != file.npos) return true;  // what a user's CUDA file is compiled with
  const std::size_t simt = file.rfind("ridge/simt/");
  if (simt == file.npos) return false;
  const std::string_view rest = file.substr(simt + std::string_view("ridge/simt/").size());
  return rest.find('/') == rest.npos || rest.starts_with("cpu/");
}

Line line_of(const Frame& frame) {
  // FILE:LINE, possibly with " (discriminator 2)"; ?? and ? where unknown
  const std::string_view place = std::string_view(frame.place).substr(0, frame.place.find(" (discriminator"));
  const std::size_t colon = place.rfind(':');
  if (colon == place.npos || place.starts_with("??")) return {};
  Line line;
  line.file = fs::path(place.substr(0, colon)).lexically_normal().string();
  line.number = std::atoi(std::string(place.substr(colon + 1)).c_str());
  return line;
}

Symbol symbol_of(const Object& object, std::uintptr_t address, const std::vector<Frame>& frames) {
  Symbol symbol;
  for (const Frame& frame : frames) {
    Line line = line_of(frame);
    if (line.number > 0 && (symbol.line.number == 0 || is_vocabulary(symbol.line.file))) symbol.line = std::move(line);
    if (frame.function != "??") symbol.function = frame.function;
  }
  if (symbol.line.number == 0) {
    char offset[32];
    std::snprintf(offset, sizeof offset, "+%#zx", static_cast<std::size_t>(address - object.base));
    symbol.line.file = object.path + offset;
  }
  return symbol;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

// Reads source lines; opens each file once.
void quote(std::map<std::uintptr_t, Symbol>& symbols) {
  std::map<std::string, std::vector<Line*>> wanted;
  for (auto& [address, symbol] : symbols)
    if (symbol.line.number > 0) wanted[symbol.line.file].push_back(&symbol.line);
  for (auto& [file, lines] : wanted) {
    std::ifstream in(file);
    std::vector<std::string> text;
    for (std::string line; std::getline(in, line);) text.push_back(line);
    for (Line* line : lines)
      if (static_cast<std::size_t>(line->number) <= text.size())
        line->text = trimmed(text[static_cast<std::size_t>(line->number) - 1]);
  }
}

}  // namespace

std::map<std::uintptr_t, Symbol> find_symbols(const std::set<std::uintptr_t>& addresses) {
  std::map<Object, std::vector<std::uintptr_t>> by_object;
  for (const std::uintptr_t address : addresses) by_object[object_of(address)].push_back(address);
  std::map<std::uintptr_t, Symbol> symbols;
  for (const auto& [object, list] : by_object) {
    const auto frames = frames_of(object, list);
    for (std::size_t i = 0; i < list.size(); ++i) symbols[list[i]] = symbol_of(object, list[i], frames[i]);
  }
  quote(symbols);
  return symbols;
}

}  // namespace ridge::simt::trace
