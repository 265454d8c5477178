// Compiles a user's CUDA file for a mode of the CPU runtime, with g++ and what the build has laid out for it
// (cmake/lab.cmake), and runs it.
#pragma once
#include <ridge/core/status.hpp>
#include <ridge/lab/translate.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli::lab {

namespace fs = std::filesystem;

enum class Mode { run, trace, bounds, race };
constexpr std::string_view name(Mode mode) {
  constexpr std::string_view names[] = {"run", "trace", "bounds", "race"};
  return names[static_cast<int>(mode)];
}

// The folders of archives and options, and of Ridge's headers; an error that says what to build where they are missing.
struct Toolchain {
  fs::path archives, headers;
  std::string compiler;  // g++, or $CXX where that is one
};
Result<Toolchain> find_toolchain();

struct Source {
  ridge::lab::Translated translated;
  std::vector<std::string> flags;  // the user's own -I and -D
  const fs::path& file() const { return translated.files[0].source; }
};

// The first messages of a compiler that refused.
std::string first_lines(const std::string& messages, int most);

// Makes the programs of these modes side by side, as `folder`/MODE. An error has the compiler's first messages.
Status compile(const Toolchain&, const Source&, const std::vector<Mode>&, const fs::path& folder);

struct Run {
  int code = 0;  // of its exit; 128 + signal
  bool timed_out = false;
  std::string output;    // what it wrote, where that was kept
  std::string messages;  // on standard error
};

// For a signal that ends this program: ends what runs for it, and removes the folder. Async-signal-safe.
void end_on_signal();
// The folder that goes; null: none.
void remove_on_signal(const char* folder);

struct RunOptions {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=VALUE, besides what is there
  double seconds = 0;                    // then it is ended; 0: never
  bool keeps_output = false;             // else it goes where ours goes
};
Result<Run> run_program(const fs::path& program, const RunOptions&, const fs::path& folder);

}  // namespace ridge::cli::lab
