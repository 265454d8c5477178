#include "trace_program.hpp"

#include "progress.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace ridge::cli {
namespace {

namespace fs = std::filesystem;

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& s : strings) list.push_back(s.data());
  list.push_back(nullptr);
  return list;
}

bool older(const fs::path& made, const fs::path& than) {
  std::error_code error;
  const auto a = fs::last_write_time(made, error);
  if (error) return true;
  const auto b = fs::last_write_time(than, error);
  return !error && a < b;
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

Status build(const fs::path& tree) {
  const Progress progress("building ridge-trace, once");
  std::vector<std::string> command{"cmake", "--build", tree.string(), "--parallel", "--target", "ridge_trace_cli"};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const fs::path log = tree / "ridge-trace.log";
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, "cmake", &files, nullptr, pointers(command).data(), environ);
  posix_spawn_file_actions_destroy(&files);
  int status = 0;
  if (!failed && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Status::error(Code::unsupported, "trace: ridge-trace could not be built; " + log.string() +
                                              " says why, and 'cmake --build " + tree.string() +
                                              " --target ridge_trace_cli' tries again");
}

}  // namespace

Status become_trace_program(const std::vector<std::string>& arguments) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error), folder = self.parent_path();
  const fs::path program = folder / "ridge-trace", tree = folder.parent_path();
  if (fs::exists(tree / "CMakeCache.txt", error)) {
    const fs::path library = tree / "lib" / "libridge.so";
    const Lock lock(tree);
    if (older(program, self) || older(program, library)) RIDGE_TRY(build(tree));
  }
  if (!fs::exists(program, error))
    return Status::error(Code::unsupported, "trace: there is no " + program.string() +
                                                "; it is the target ridge_trace_cli of a build of Ridge");
  std::vector<std::string> command{program.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  execv(program.c_str(), pointers(command).data());
  return Status::error(Code::unsupported, "trace: " + program.string() + " cannot be started: " + std::strerror(errno));
}

}  // namespace ridge::cli
