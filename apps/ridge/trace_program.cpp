#include "trace_program.hpp"

#include "progress.hpp"
#include "strings.hpp"
#include "terminal.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <thread>

namespace ridge::cli {
namespace {

namespace fs = std::filesystem;

// ---- where it is ----------------------------------------------------------------------------------------------------

struct Place {
  fs::path self, program;  // ridge, ridge-trace
  fs::path tree;           // of the build; empty where this program is installed
  fs::path library() const { return tree / "lib" / "libridge.so"; }
};

Place place_of_trace_program() {
  std::error_code error;
  Place place{.self = fs::read_symlink("/proc/self/exe", error), .program = {}, .tree = {}};
  const fs::path folder = place.self.parent_path();
  place.program = folder / "ridge-trace";
  if (fs::exists(folder.parent_path() / "CMakeCache.txt", error)) place.tree = folder.parent_path();
  return place;
}

bool older(const fs::path& made, const fs::path& than) {
  std::error_code error;
  const auto a = fs::last_write_time(made, error);
  if (error) return true;
  const auto b = fs::last_write_time(than, error);
  return !error && a < b;
}

bool is_ready(const Place& place) {
  std::error_code error;
  if (place.tree.empty()) return fs::exists(place.program, error);
  return !older(place.program, place.self) && !older(place.program, place.library());
}

// ---- what is newer --------------------------------------------------------------------------------------------------

// The folder that the tree was configured for; empty where the cache does not say.
fs::path sources_of(const fs::path& tree) {
  constexpr std::string_view key = "ridge_SOURCE_DIR:STATIC=";
  std::ifstream cache(tree / "CMakeCache.txt");
  for (std::string line; std::getline(cache, line);)
    if (line.starts_with(key)) return line.substr(key.size());
  return {};
}

// Of a path below the sources' folder.
bool is_of_library(const fs::path& file) {
  const std::string name = file.filename(), stem = file.stem(), extension = file.extension();
  if (stem.ends_with("test") || std::find(file.begin(), file.end(), fs::path("test")) != file.end()) return false;
  constexpr std::array<std::string_view, 6> extensions{".cpp", ".hpp", ".cu", ".cuh", ".h", ".cmake"};
  return std::ranges::find(extensions, extension) != extensions.end() || name == "CMakeLists.txt";
}

// A source that was changed after this program was built, whose library is then older as well.
std::optional<fs::path> newer_source(const Place& place) {
  const fs::path root = sources_of(place.tree);
  if (root.empty()) return std::nullopt;
  for (const char* folder : {"ridge", "capi", "cmake"}) {
    std::error_code error;
    for (fs::recursive_directory_iterator it(root / folder, error), end; !error && it != end; it.increment(error))
      if (is_of_library(it->path().lexically_relative(root)) && older(place.self, it->path())) return it->path();
  }
  return std::nullopt;
}

// ---- building -------------------------------------------------------------------------------------------------------

unsigned cores() { return std::max(1U, std::thread::hardware_concurrency()); }

// Processor time of g++ 12 for a source with kernels, on a 2-core virtual machine.
constexpr unsigned seconds_per_source = 14;
constexpr unsigned sources = RIDGE_TRACED_SOURCES;  // 0: a build that has no such target

std::string building_time() {
  const unsigned minutes = (sources * seconds_per_source / cores() + 59) / 60;
  return fmt::format("about {} on {}", minutes > 1 ? std::to_string(minutes) + " minutes" : "a minute",
                     cores() > 1 ? std::to_string(cores()) + " cores" : "one core");
}

// One build at a time in a tree, for as long as this lives.
class Lock {
 public:
  explicit Lock(const fs::path& folder) : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ >= 0) flock(descriptor_, LOCK_EX);
  }
  ~Lock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int descriptor_;
};

std::string build_command(const fs::path& tree) {
  return "cmake --build " + tree.string() + " --target ridge_trace_cli";
}

Status build(const Place& place) {
  if (const auto newer = newer_source(place))
    return Status::error(
        Code::unsupported,
        fmt::format("trace: {} is newer than {}, and to build ridge-trace would build the library anew "
                    "as well; '{}' builds both",
                    newer->string(), place.self.string(), build_command(place.tree)));
  say_to(stderr, "building {}, once: the operators' kernels, compiled for tracing; {}\n", place.program.string(),
         building_time());
  const Progress progress("building ridge-trace");
  std::vector<std::string> command{
      "cmake", "--build", place.tree.string(), "--parallel", std::to_string(cores()), "--target", "ridge_trace_cli"};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const fs::path log = place.tree / "ridge-trace.log";
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "cmake", &files, nullptr, pointers(command).data(), environ);
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  if (!failed && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Status::error(Code::unsupported, fmt::format("trace: ridge-trace could not be built; {} says why, and '{}' "
                                                      "tries again",
                                                      log.string(), build_command(place.tree)));
}

}  // namespace

bool trace_program_is_ready() { return is_ready(place_of_trace_program()); }

std::string trace_program_needs() {
  if (sources == 0 || place_of_trace_program().tree.empty())
    return "needs ridge-trace, the target ridge_trace_cli of a plain build of Ridge by g++";
  return "builds ridge-trace first, once, in " + building_time();
}

Status become_trace_program(const std::vector<std::string>& arguments) {
  const Place place = place_of_trace_program();
  if (sources > 0 && !place.tree.empty()) {
    const Lock lock(place.tree);
    if (!is_ready(place)) RIDGE_TRY(build(place));
  }
  std::error_code error;
  if (!fs::exists(place.program, error))
    return Status::error(Code::unsupported,
                         fmt::format("trace: there is no program {}; the target ridge_trace_cli of a plain build of "
                                     "Ridge by g++ makes it",
                                     place.program.string()));
  std::vector<std::string> command{place.program.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  execv(place.program.c_str(), pointers(command).data());
  return Status::error(Code::unsupported,
                       fmt::format("trace: {} cannot be started: {}", place.program.string(), std::strerror(errno)));
}

}  // namespace ridge::cli
