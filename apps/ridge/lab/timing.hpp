// A user's program on the GPU of this machine, with every launch timed.
#pragma once
#include "gpu.hpp"
#include "study.hpp"

#include <string>

namespace ridge::cli::lab {

struct Timing {
  std::string times;  // a line of JSON for each launch that was timed (ridge/lab/measured.hpp)
  Run run;
  bool failed() const { return run.code != 0 || run.timed_out; }
};

// Compiles by nvcc and runs once. An error where nvcc refuses the file, with its first messages.
Result<Timing> time_on(const Gpu&, const fs::path& nvcc, const StudyOptions&);

}  // namespace ridge::cli::lab
