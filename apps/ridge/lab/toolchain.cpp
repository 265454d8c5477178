#include "toolchain.hpp"

#include "../strings.hpp"
#include "../terminal.hpp"
#include "input.hpp"

#include <ridge/core/file.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace ridge::cli::lab {
namespace {

// Options, a line each.
std::vector<std::string> lines_of(const fs::path& file) {
  std::vector<std::string> lines = text_lines(read_file(file).value_or(""));
  std::erase(lines, "");  // of a mode that has none
  return lines;
}

// What a signal's handler needs: plain memory.
volatile pid_t running[4] = {};  // a process for each mode
char folder_that_goes[4096] = {};

void note_running(pid_t child) {
  for (volatile pid_t& place : running)
    if (place == 0) {
      place = child;
      return;
    }
}
void forget_running(pid_t child) {
  for (volatile pid_t& place : running)
    if (place == child) place = 0;
}

// Starts a program; its output goes to files where they are named.
Result<pid_t> start(std::vector<std::string> command, std::vector<std::string> environment, const fs::path& output,
                    const fs::path& messages, int input = STDIN_FILENO) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (input != STDIN_FILENO) posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
  const auto to_file = [&](int descriptor, const fs::path& path) {
    if (!path.empty())
      posix_spawn_file_actions_addopen(&files, descriptor, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  };
  to_file(STDOUT_FILENO, output);
  to_file(STDERR_FILENO, messages);
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text = *variable;
    const std::string_view key = text.substr(0, text.find('=') + 1);
    if (std::ranges::none_of(environment, [&](const std::string& e) { return e.starts_with(key); }))
      environment.emplace_back(text);
  }
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, command[0].c_str(), &files, nullptr, pointers(command).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&files);
  if (failed)
    return Status::error(Code::unsupported,
                         fmt::format("lab: {} cannot be started: {}", command[0], std::strerror(failed)));
  note_running(child);
  return child;
}

// Waits for a process that start() began.
int wait_for(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  forget_running(child);
  return status;
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

using Command = std::vector<std::string>;

void append(Command& command, const std::vector<std::string>& options) {
  command.insert(command.end(), options.begin(), options.end());
}

// ---- the header before every file, compiled once --------------------------------------------------------------------
// It is most of a small file's time. It lies beside the archives, or in the user's cache where these are not the
// user's.

fs::path cache_folder(const Toolchain& tools) {
  if (access(tools.archives.c_str(), W_OK) == 0) return tools.archives / "precompiled";
  const char *cache = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
  if (cache && *cache) return fs::path(cache) / "ridge/lab";
  return home && *home ? fs::path(home) / ".cache/ridge/lab" : fs::path();
}

// The header to include, which g++ takes compiled where that lies beside it. Empty where there is no folder for it.
fs::path precompiled_header(const Toolchain& tools, Mode mode) {
  const fs::path folder = cache_folder(tools);
  return folder.empty() ? folder : folder / name(mode) / "cuda.hpp";
}

bool is_newer_than_headers(const fs::path& made, const Toolchain& tools) {
  std::error_code error;
  const auto time = fs::last_write_time(made, error);
  if (error) return false;
  for (const char* folder : {"ridge/lab", "ridge/simt", "ridge/core"})
    for (fs::recursive_directory_iterator it(tools.headers / folder, error), end; !error && it != end;
         it.increment(error))
      if (it->path().extension() == ".hpp" && fs::last_write_time(it->path(), error) > time) return false;
  return !error;
}

// The options that a file and the header before it have alike.
Command compiler_with_options(const Toolchain& tools, Mode mode) {
  Command command{tools.compiler, "-std=gnu++20"};
  append(command, lines_of((tools.archives / name(mode)).string() + ".options"));
  // Loops that are to be unrolled (ridge/lab/unroll_text.hpp) are so before basic blocks are counted, and not after,
  // where lanes in one loop would be in different copies of it.
  if (mode == Mode::trace) append(command, {"-fenable-tree-cunrolli", "-fdisable-rtl-loop2_unroll"});
  // What nvcc's host compiler lets pass.
  append(command, {"-Wno-narrowing", "-fpermissive", "-fdiagnostics-color=never"});
  append(command, {"-I", (tools.headers / "ridge/lab/include").string(), "-I", tools.headers.string()});
  return command;
}

Command compile_command(const Toolchain& tools, const Source& source, Mode mode, const fs::path& folder) {
  Command command = compiler_with_options(tools, mode);
  append(command, {"-iquote", source.file().parent_path().string()});
  for (const auto& [original, copy] : source.translated.files)  // a program's lines are the user's
    command.push_back(fmt::format("-fdebug-prefix-map={}={}", copy.string(), original.string()));
  append(command, source.flags);
  const fs::path before = precompiled_header(tools, mode);
  append(command, {"-include", before.empty() ? "ridge/lab/cuda.hpp" : before.string(), "-x", "c++", "-c",
                   source.translated.files[0].copy.string(), "-o", (folder / name(mode)).string() + ".o"});
  return command;
}

// Apart from the compilation: the trace is compiled with a sanitizer's hooks, and linked without that sanitizer.
Command link_command(const Toolchain& tools, Mode mode, const fs::path& folder) {
  const std::string program = (folder / name(mode)).string();
  // The runtime comes before the program, and whole: so its static objects are made before the program's, which may
  // call it, and destroyed after them.
  Command command{tools.compiler,
                  "-Wl,--whole-archive",
                  (tools.archives / fmt::format("libridge_lab_{}.a", name(mode))).string(),
                  "-Wl,--no-whole-archive",
                  program + ".o",
                  "-Wl,-z,norelro"};  // else shared variables aligned to more than a page are not loaded
  append(command, lines_of((tools.archives / name(mode)).string() + ".link"));
  append(command, {"-pthread", "-ldl", "-o", program});
  return command;
}

// "a.cu:3: " of the error of which a part is at `at`.
std::string place_of_error(const std::string& messages, std::size_t at) {
  const std::size_t begin = messages.rfind('\n', at) + 1, column = messages.rfind(':', at - 1);
  return messages.substr(begin, column - begin) + ": ";
}

// "a.cu:3: Thrust (thrust/sort.h) is not emulated: ..." of an #error that the translator has written.
std::string refused_include(const std::string& messages) {
  constexpr std::string_view mark = ": error: #error ";
  const std::size_t at = messages.find(mark);
  if (at == messages.npos || messages.find("is not emulated", at) == messages.npos) return {};
  const std::size_t text = at + mark.size();
  return place_of_error(messages, at) + messages.substr(text, messages.find('\n', text) - text);
}

// "a.cu:3: 65536 bytes of static shared memory: ..." of an assertion that the translator has written.
std::string refused_shared_memory(const std::string& messages) {
  const std::size_t at = messages.find(": error: static assertion failed: of static shared memory");
  if (at == messages.npos) return {};
  const std::size_t compared = messages.find("comparison reduces to ", at);  // '(65536 <= 49152)'
  const std::size_t number = messages.find('(', compared);
  const bool is_said = compared != messages.npos && number != messages.npos;
  const std::string bytes = is_said ? messages.substr(number + 1, messages.find(' ', number) - number - 1) : "more";
  return place_of_error(messages, at) + bytes +
         " bytes of static shared memory: a block may have 49152, and more as dynamic shared memory that "
         "cudaFuncSetAttribute allows";
}

// Without the notes on the passes that compiler_with_options() names.
std::string users_messages(const fs::path& log) {
  std::string text;
  for (const std::string& line : text_lines(read_file(log).value_or("")))
    if (!line.starts_with("cc1plus: note: enable pass") && !line.starts_with("cc1plus: note: disable pass"))
      text += line + "\n";
  return text;
}

// "a.cu:3: textures and surfaces are not emulated: ..." of a name that is there only to be refused (textures.hpp).
std::string refused_name(const std::string& messages) {
  constexpr std::string_view mark = " is unavailable: ";
  const std::size_t text = messages.find(mark), at = messages.rfind(": error: ", text);
  if (text == messages.npos || at == messages.npos) return {};
  const std::size_t begin = text + mark.size();
  return place_of_error(messages, at) + messages.substr(begin, messages.find('\n', begin) - begin);
}

std::string refusal_in(const std::string& messages) {
  for (const auto refused : {refused_include, refused_shared_memory, refused_name})
    if (std::string sentence = refused(messages); !sentence.empty()) return sentence;
  return {};
}

}  // namespace

std::string first_lines(const std::string& text, int most) {
  std::size_t end = 0;
  for (int i = 0; i < most && end < text.size(); ++i) end = std::min(text.find('\n', end), text.size() - 1) + 1;
  return text.substr(0, end) + (end < text.size() ? "...\n" : "");
}

// The modes are g++'s, which $CXX may name otherwise (g++-13); another compiler that it names is not for us.
static std::string compiler() {
  const char* chosen = std::getenv("CXX");
  const std::string name = chosen ? fs::path(chosen).filename().string() : "";
  const bool is_gnu = name.starts_with("g++") || name.find("-g++") != name.npos;
  return is_gnu && name.find(' ') == name.npos ? chosen : "g++";
}

Result<Toolchain> find_toolchain() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path prefix = folder.parent_path();
  Toolchain tools;
  for (const char* libraries : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"})
    if (fs::exists(prefix / libraries / "ridge/lab/trace.options", error))
      tools.archives = prefix / libraries / "ridge/lab";
  // Of a build the headers are the source's.
  const fs::path sources = prefix / "lib/ridge/lab/sources";
  tools.headers = fs::exists(sources, error) ? fs::path(lines_of(sources).at(0)) : prefix / "include";
  if (tools.archives.empty() || !fs::exists(tools.headers / "ridge/lab/cuda.hpp", error))
    return Status::error(Code::unsupported,
                         fmt::format("lab: what it compiles files with is not beside {}; a plain build of Ridge by g++ "
                                     "makes it (target ridge_lab)",
                                     folder.string()));
  tools.compiler = compiler();
  return tools;
}

// Runs the commands of all modes side by side.
static Status run_all(const std::vector<std::pair<Mode, Command>>& commands, const Source& source,
                      const fs::path& folder) {
  struct Job {
    pid_t child;
    fs::path log;
  };
  std::vector<Job> jobs;
  Status failed;
  for (const auto& [mode, command] : commands) {
    const fs::path log = folder / fmt::format("{}.log", name(mode));
    const Result<pid_t> child = start(command, {}, log, log);
    if (child) jobs.push_back({*child, log});
    else failed = child.error();
  }
  for (const Job& job : jobs) {
    if (code_of(wait_for(job.child)) == 0 || !failed.ok()) continue;
    const std::string messages = users_messages(job.log);
    if (const std::string refusal = refusal_in(messages); !refusal.empty()) {
      failed = Status::error(Code::unsupported, "lab: " + refusal);
      continue;
    }
    say_lines(first_lines(messages, 24), stderr);
    failed = Status::error(Code::unsupported, fmt::format("lab: {} does not compile {}; its messages are above",
                                                          commands[0].second[0], source.file().string()));
  }
  return failed;
}

// Compiles the header for the modes that lack it. Without it files compile as well, only slower: nothing is said.
static void precompile(const Toolchain& tools, const std::vector<Mode>& modes, const fs::path& folder) {
  std::vector<std::pair<pid_t, fs::path>> jobs;  // and what is to be made
  const auto begun = fs::file_time_type::clock::now();
  std::error_code error;
  for (const Mode mode : modes) {
    const fs::path header = precompiled_header(tools, mode);
    const fs::path made = header.string() + ".gch";
    if (header.empty() || is_newer_than_headers(made, tools)) continue;
    fs::create_directories(header.parent_path(), error);
    if (!replace_file(header, "#include <ridge/lab/cuda.hpp>\n")) continue;
    Command command = compiler_with_options(tools, mode);
    append(command, {"-x", "c++-header", header.string(), "-o", made.string() + fmt::format(".{}", getpid())});
    const fs::path log = folder / fmt::format("{}.header.log", name(mode));
    if (const Result<pid_t> child = start(command, {}, log, log)) jobs.emplace_back(*child, made);
  }
  for (const auto& [child, made] : jobs) {
    const int status = wait_for(child);
    const fs::path part = made.string() + fmt::format(".{}", getpid());
    // Whole or not at all, whoever else makes it; and as old as what it was made of, which may have changed meanwhile.
    if (code_of(status) == 0) fs::last_write_time(part, begun, error), fs::rename(part, made, error);
    else fs::remove(part, error);
  }
}

Status compile(const Toolchain& tools, const Source& source, const std::vector<Mode>& modes, const fs::path& folder) {
  precompile(tools, modes, folder);
  std::vector<std::pair<Mode, Command>> compiling, linking;
  for (const Mode mode : modes) {
    compiling.emplace_back(mode, compile_command(tools, source, mode, folder));
    linking.emplace_back(mode, link_command(tools, mode, folder));
  }
  RIDGE_TRY(run_all(compiling, source, folder));
  return run_all(linking, source, folder);
}

void remove_on_signal(const char* folder) {
  folder_that_goes[0] = '\0';
  if (folder && std::strlen(folder) < sizeof folder_that_goes) std::strcpy(folder_that_goes, folder);
}

void end_on_signal() {
  for (const volatile pid_t& child : running)
    if (const pid_t pid = child) kill(pid, SIGKILL);
  if (!folder_that_goes[0]) return;
  const pid_t remover = fork();
  if (remover == 0) {
    execl("/bin/rm", "rm", "-rf", "--", folder_that_goes, static_cast<char*>(nullptr));
    _exit(1);
  }
  if (remover > 0) waitpid(remover, nullptr, 0);
}

// Waits for a run, which gets its input meanwhile, and ends it where it takes too long: by SIGTERM, so that it writes
// its report at its next launch; then by force.
static int wait_for_run(pid_t child, StandardInput& input, double seconds, bool& timed_out) {
  int status = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (waitpid(child, &status, seconds > 0 || input.is_fed() ? WNOHANG : 0) == 0) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    constexpr double patience = 5;  // seconds, for a launch that is under way and for the report
    if (seconds > 0 && passed.count() > seconds && !timed_out) {
      timed_out = true;
      kill(child, SIGTERM);
    } else if (timed_out && passed.count() > seconds + patience) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    if (input.is_fed()) input.feed(5);
    else std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  input.end_run();
  forget_running(child);
  return status;
}

Result<Run> run_program(const fs::path& program, const RunOptions& options, const fs::path& folder) {
  static StandardInput input;  // there is one, whoever runs programs
  const fs::path output = options.keeps_output ? folder / "output" : fs::path(), messages = folder / "messages";
  std::vector<std::string> command{program.string()};
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  std::fflush(stdout);
  const int from = input.begin_run();
  const Result<pid_t> child = start(command, options.environment, output, messages, from);
  input.has_started(from);
  if (!child) {
    input.end_run();
    return child.error();
  }
  Run run;
  const int status = wait_for_run(*child, input, options.seconds, run.timed_out);
  run.code = code_of(status);
  run.messages = read_file(messages).value_or("");
  if (options.keeps_output) run.output = read_file(output).value_or("");
  return run;
}

}  // namespace ridge::cli::lab
