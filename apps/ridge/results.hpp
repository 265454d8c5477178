// Results: what `ridge bench --json` wrote, read again.
#pragma once
#include <ridge/core/device.hpp>
#include <ridge/core/status.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::cli {

struct ResultPeer {
  std::string name;
  double us = 0;
};

struct ResultRow {
  std::string case_text, variant;
  bool chosen = false;
  double us = 0;
  std::optional<double> noise;
  double gbs = 0, tflops = 0, copy_share = 0;  // 0: not measured
  double predicted_us = 0;                     // at the time of the measurement; 0: not kept
  std::vector<ResultPeer> peers;
};

struct Results {
  std::string path, device, driver, commit, date;
  std::vector<ResultRow> rows;  // those that were measured
};

// Errors: io where the file cannot be read; invalid_argument where it holds no such results (each row has a case, a
// variant, whether the plan chose it, and a time).
Result<Results> read_results(const std::string& path);
Result<Results> parse_results(const std::string& path, std::string_view text);

// A case on which the row that the plan chose was not the fastest of those measured in the same run, by more than the
// noise of both times.
struct BeatenChoice {
  std::string case_text, chosen, fastest;
  double chosen_us = 0, fastest_us = 0;
  double slower() const { return chosen_us / fastest_us - 1; }
};
// Of one run's rows; the case that loses most comes first. A case without a chosen row is none of them.
std::vector<BeatenChoice> beaten_choices(const std::vector<ResultRow>&);
// How many times as long as the fastest the chosen rows took: the geometric mean of all cases that have one; else 1.
double choices_over_fastest(const std::vector<ResultRow>&);

// The model of the device that results are of, whose name has the model's in it; the CPU runtime for its own.
Result<DeviceInfo> model_of_results(const Results&);

}  // namespace ridge::cli
