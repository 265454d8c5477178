// The exercises: learn/index.txt names them in their order, and each has a folder with exercise.cu, solution.cu,
// hints.md and goal.json (learn/README.md).
#pragma once
#include "goals.hpp"

#include <ridge/core/status.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli::learn {

struct Exercise {
  int number = 0;  // from 1
  std::string name, title, teaches;
  std::string kernel;  // the goals are of its launches; empty: of all
  std::vector<Goal> goals;
  std::filesystem::path folder;

  std::filesystem::path start() const { return folder / "exercise.cu"; }
  std::filesystem::path solution() const { return folder / "solution.cu"; }
};

using Course = std::vector<Exercise>;

// Of the sources where this program was built, else of the installed package.
Result<Course> load_course();

// By name or number; the error names the nearest.
Result<Exercise> find_exercise(const Course&, std::string_view name);

// Which exercise a file is of: its first line is "// ridge learn NAME".
Result<Exercise> exercise_of(const Course&, const std::string& file);

// The comment that a program begins with, below its first line, without slashes: what is to be done.
std::string opening_comment(const std::string& program);

// Those of hints.md, a numbered item each.
std::vector<std::string> hints_of(const Exercise&);

}  // namespace ridge::cli::learn
