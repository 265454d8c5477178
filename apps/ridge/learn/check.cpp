#include "check.hpp"

#include "../lab/study.hpp"
#include "../lab/text.hpp"
#include "../request.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace ridge::cli::learn {
namespace {

using lab::Mode;

// A loop that never ends is a mistake that beginners make.
constexpr double most_seconds = 60;

// What is to be mended first: a wrong address or launch, then races; an unset read mostly comes from one of these.
int rank(const lab::Finding& f) {
  if (f.sentence.starts_with("race")) return 1;
  return f.sentence.starts_with("reads shared memory") ? 2 : 0;
}

Verdict failed(const lab::Finding& f) { return {.text = lab::place_text(f) + ": " + f.sentence, .source = {}}; }

std::string last_line(std::string text) {
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return text.substr(text.rfind('\n') + 1);  // npos + 1 is 0
}

// The program's own words, which are the last that it printed.
Verdict wrong_result(const lab::Study& study) {
  const lab::Run& run = study.first_run();
  const std::string said = last_line(run.output);
  if (run.timed_out) return {.text = fmt::format("the program did not end in {:g} s", most_seconds), .source = {}};
  if (run.code > 128) return {.text = fmt::format("the program was ended by signal {}", run.code - 128), .source = {}};
  if (run.code != 0 && !said.empty()) return {.text = "wrong result: " + said, .source = {}};
  if (run.code != 0) return {.text = fmt::format("the program ended with code {}", run.code), .source = {}};
  return {.text = "with bounds checked or races detected the program did not come to its end", .source = {}};
}

// Passed with its figures, or what the first goal that is not met says.
// Predicted times are a goal of some: of so small data most is the launch, and says nothing about the others.
Verdict judge_goals(const Exercise& exercise, const Json& run, bool only_trace) {
  Verdict verdict{.passed = true, .text = "the result is right", .source = {}};
  if (!only_trace) verdict.text += ", no races, nothing out of bounds";
  for (const Goal& goal : exercise.goals) {
    const std::optional<Figure> figure = figure_of(goal, run, exercise.kernel);
    if (!figure)
      return {.text = fmt::format("no launch of {} was seen; the goal: {}", exercise.kernel, goal.goal), .source = {}};
    if (!goal.is_met_by(figure->value)) {
      const std::string place = lab::place_text(figure->line.is_null() ? Json::object() : figure->line);
      return {.text = (place.empty() ? "" : place + ": ") + failing_text(goal, figure->value),
              .source = figure->line.is_null() ? "" : figure->line.value("source", "")};
    }
    verdict.text += ", " + figure_text(goal, figure->value);
  }
  return verdict;
}

}  // namespace

Result<Verdict> check(const Exercise& exercise, const std::string& file, bool only_trace) {
  RIDGE_CLI_TAKE(study, lab::Study::begin({.file = file,
                                           .device = "h100",
                                           .keep = {},
                                           .includes = {},
                                           .defines = {},
                                           .arguments = {},
                                           .seconds = most_seconds,
                                           .keeps_output = true,
                                           .is_quiet = true}));
  const auto is_clean = [&] { return !study.failed() && all_findings(study.report()).empty(); };
  RIDGE_TRY(study.run({Mode::trace}));
  if (study.first_run().timed_out) return wrong_result(study);
  // What runs clean and is too slow need not be looked at for races: it will be changed.
  if (is_clean() && !study.report().run.is_null())
    if (const Verdict verdict = judge_goals(exercise, study.report().run, only_trace); !verdict.passed || only_trace)
      return verdict;
  if (!only_trace) RIDGE_TRY(study.run({Mode::bounds, Mode::race}));
  std::vector<lab::Finding> findings = all_findings(study.report());
  std::ranges::stable_sort(findings, {}, rank);
  if (!findings.empty()) return failed(findings.front());
  if (study.failed() || study.report().run.is_null()) return wrong_result(study);
  return judge_goals(exercise, study.report().run, only_trace);
}

}  // namespace ridge::cli::learn
