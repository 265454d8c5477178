// Runs a program and keeps what it said.
#pragma once
#include "temporary_folder.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

struct Finished {
  int code = -1;  // -1: it did not exit by itself
  std::string out, err;
};

// Starts it. Signals are as a shell in the foreground has them.
inline pid_t start_program(std::string program, std::vector<std::string> arguments, const std::string& out,
                           const std::string& err) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&files, 2, err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<char*> argv{program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &files, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (failed) throw std::runtime_error("cannot start " + program);
  return child;
}

inline Finished run_program(std::string program, std::vector<std::string> arguments, const char* out_path = nullptr) {
  const TemporaryFolder said;
  const std::string out = out_path ? out_path : said / "out", err = said / "err";
  const pid_t child = start_program(std::move(program), std::move(arguments), out, err);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, out_path ? "" : file_bytes(out), file_bytes(err)};
}
