// ridge survey: of many shapes, those whose predicted time is furthest from the least there is. A benchmark shows the
// shapes that somebody thought of; a hole in the table of kernels is where nobody looked. With --sweep: one case over
// one of its sizes.
#include "commands.hpp"
#include "patterns.hpp"
#include "request.hpp"
#include "staircase.hpp"
#include "table.hpp"
#include "terminal.hpp"

#include <ridge/core/output_file.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ridge::cli {
namespace {

// No call is held to less than this: a launch, a trip to memory and back, and a second kernel where one is needed.
constexpr double least_worth_us = 5;

struct Request {
  std::vector<std::string> places;
  std::string on, sweep, plot;
  std::size_t worst = 20;
  bool json = false;
};

struct Finding {
  std::string case_text, variant, bound;
  double least_us = 0, predicted_us = 0;

  double times() const { return predicted_us / std::max(least_us, least_worth_us); }
};

Result<Finding> look(const std::string& case_text, const DeviceInfo& on) {
  RIDGE_CLI_TAKE(known, find_case(case_text));
  RIDGE_CLI_TAKE(device, device_of(known.c, on));
  auto explained = explain_case(known, device);
  if (!explained) return Status::error(Code::unsupported, case_text + ": " + std::string(explained.error().message()));
  return Finding{case_text, explained->variant, explained->bound, explained->least_us, explained->predicted_us};
}

void print(const std::vector<Finding>& findings) {
  Table table({{"case"},
               {"variant"},
               {"bound"},
               {"least us", Align::right},
               {"predicted us", Align::right},
               {"times", Align::right}});
  for (const Finding& f : findings)
    table.add({f.case_text, f.variant, f.bound, fmt::format("{:.2f}", f.least_us),
               fmt::format("{:.2f}", f.predicted_us), fmt::format("{:.1f}", f.times())});
  table.print();
}

Result<int> survey(const Request& request) {
  RIDGE_CLI_TAKE(device, device_model(request.on));
  std::vector<Finding> all, too_far;
  for (const std::string& place : request.places) {
    RIDGE_CLI_TAKE(patterns, patterns_in(place));
    for (const Pattern& pattern : patterns) {
      RIDGE_CLI_TAKE(texts, cases_of(pattern.text));
      for (const std::string& text : texts) {
        RIDGE_CLI_TAKE(found, look(text, device));
        if (found.times() > pattern.most) too_far.push_back(found);
        all.push_back(std::move(found));
      }
    }
  }
  std::ranges::stable_sort(all, std::greater{}, &Finding::times);
  const std::size_t cases = all.size();
  all.resize(std::min(cases, request.worst));
  print(all);
  say("{} cases on {}; times: of the least time, or of {:.0f} us where that is less\n", cases, device.name,
      least_worth_us);
  if (too_far.empty()) return exit_done;
  say("\n{} further off than their file allows\n", too_far.size());
  print(too_far);
  return exit_check_failed;
}

// The one case that --sweep takes.
Result<std::string> case_to_sweep(const std::vector<std::string>& places) {
  std::vector<std::string> texts;
  if (places.size() == 1 && places[0].find(':') != std::string::npos) {
    RIDGE_CLI_TAKE(cases, cases_of(places[0]));
    texts = cases;
  }
  if (texts.size() == 1) return texts[0];
  return Status::invalid("survey", "--sweep", "given with other than one case", "given with one OP:DTYPE:k=v,...");
}

Result<int> show_staircase(const Request& request) {
  RIDGE_CLI_TAKE(device, device_model(request.on));
  RIDGE_CLI_TAKE(range, parse_size_range(request.sweep));
  RIDGE_CLI_TAKE(text, case_to_sweep(request.places));
  RIDGE_CLI_TAKE(staircase, climb(text, range, device));
  std::FILE* to = stdout;
  if (!request.plot.empty()) {
    RIDGE_CLI_TAKE(place, OutputFile::check(request.plot));
    if (place.standard_output) to = stderr;
    RIDGE_CLI_TAKE(file, OutputFile::create(request.plot));
    RIDGE_TRY(file.write(staircase_svg(staircase)));
    RIDGE_TRY(file.commit());
  }
  if (request.json) std::fputs(dump(to_json(staircase)).c_str(), to);
  else print(staircase, to);
  return exit_done;
}

}  // namespace

void add_survey(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("survey", "Of many shapes, those whose predicted time is furthest from the least there is");
  command
      ->add_option("PATTERN", request->places,
                   "OP:DTYPE:k=v,... with lists in braces, as rows={1,64}; or a file of patterns | most times | why")
      ->required();
  command->add_option("--device,--on", request->on, "A device model (ridge devices)")->required();
  CLI::Option* worst = command->add_option("--worst", request->worst, "How many cases to show")->capture_default_str();
  CLI::Option* sweep =
      command->add_option("--sweep", request->sweep, "SIZE=FROM:TO[:STEP]: one case over one of its sizes instead");
  sweep->excludes(worst);
  command->add_option("--plot", request->plot, "Draw the sweep's times into an SVG file")->needs(sweep);
  command->add_flag("--json", request->json, "Print the sweep as JSON")->needs(sweep);
  command->callback([request, &action] {
    action = [request] { return request->sweep.empty() ? survey(*request) : show_staircase(*request); };
  });
}

}  // namespace ridge::cli
