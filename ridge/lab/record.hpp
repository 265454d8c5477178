// What one run of a user's program has launched and what went wrong in it: the report that `ridge lab` shows.
#pragma once
#include <ridge/lab/predict.hpp>
#include <ridge/lab/session.hpp>
#include <ridge/simt/trace.hpp>

#include <string>
#include <vector>

namespace ridge::lab {

// A rule that the program broke.
struct Finding {
  std::string file;
  int line = 0;
  std::string sentence;
};

// Launches of one line with one shape that do the same (records.hpp); most programs launch a kernel many times.
struct Record {
  std::string kernel, file;
  int line = 0;
  simt::Config config;
  const void* function = nullptr;      // the kernel's, where it is known
  std::vector<std::string> arguments;  // of the first launch
  std::vector<std::string_view> types;
  std::int64_t argument_sets = 1;     // how many others were found to do the same, with the first
  std::vector<std::int64_t> numbers;  // which of the launches of their line and shape, the first 200
  std::int64_t launches = 0, failures = 0;
  double us = 0;  // predicted, of all of them
  bool is_watched = false;
  std::size_t trace = 0;  // which of the trace's launches,
  Work work;              // and what it did
};

// As JSON, with what the trace saw and what the model predicts of it.
std::string report_text(const std::vector<Record>&, const std::vector<Finding>&, const simt::trace::Report&,
                        const DeviceInfo&, double live_bytes, double device_us);

}  // namespace ridge::lab
