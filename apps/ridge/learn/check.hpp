// Whether a file solves an exercise.
#pragma once
#include "course.hpp"

#include <string>

namespace ridge::cli::learn {

struct Verdict {
  bool passed = false;
  std::string text;    // the figures of what has passed, or what is wrong: "a.cu:12: ..."
  std::string source;  // the line that is wrong, where it is known
};

// Compiles and runs the file as `ridge lab` does. only_trace: neither with bounds checked nor with races detected.
Result<Verdict> check(const Exercise&, const std::string& file, bool only_trace);

}  // namespace ridge::cli::learn
