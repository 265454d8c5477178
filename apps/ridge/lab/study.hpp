// A user's file, compiled and run in modes one after the other: all that they say is one report. `ridge lab` and
// `ridge learn` both ask for it.
#pragma once
#include "report.hpp"
#include "toolchain.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli::lab {

struct StudyOptions {
  std::string file, device = "h100", keep;  // keep: the folder for what is compiled; empty: one that is gone afterwards
  std::vector<std::string> includes, defines, arguments;
  double seconds = 120;       // a run that takes longer is ended
  bool keeps_output = false;  // of the program; else the first run writes where we do
  bool is_quiet = false;      // do not pass on what it writes to standard error
};

// A folder for what is made on the way, gone at the end unless it is to be kept.
class Scratch {
 public:
  static Result<Scratch> make(const std::string& keep);
  Scratch(Scratch&&) noexcept;
  ~Scratch();
  const fs::path& folder() const { return folder_; }

 private:
  Scratch() = default;
  fs::path folder_;
  bool is_temporary_ = false;
};

class Study {
 public:
  // Translates the file. An error says what is wrong with the request.
  static Result<Study> begin(StudyOptions);

  // Compiles these modes side by side, then runs them in their order. May be called again, for other modes.
  Status run(const std::vector<Mode>&);

  const Report& report() const { return report_; }
  bool failed() const { return failed_; }          // a run ended with a code, by a signal or for its time
  const Run& first_run() const { return first_; }  // the one whose output counts

 private:
  Study(StudyOptions options, Toolchain tools, Scratch scratch, Source source);
  Status run_one(Mode);
  void take(Json, Mode);
  void take_noted(std::string_view, Mode, bool timed_out);
  void remark(Mode, const Run&, bool is_first);

  StudyOptions options_;
  Toolchain tools_;
  Scratch scratch_;
  Source source_;
  std::vector<fs::path> files_;
  Report report_;
  Run first_;
  bool has_run_ = false, failed_ = false;
};

}  // namespace ridge::cli::lab
