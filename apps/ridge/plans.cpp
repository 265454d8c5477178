// ridge plans: what every row of the tables says of itself for many problems on many devices, a line each: its refusal,
// or its predicted time, grid and workspace. Planning is pure, so that the lines of two builds tell whether a change of
// the sources changed a plan.
//
//   CASE | DEVICE | VARIANT | us blocks threads registers shared-memory workspace [chosen]
//   CASE | DEVICE | VARIANT | no: REFUSAL
#include "commands.hpp"
#include "patterns.hpp"
#include "request.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ridge::cli {
namespace {

struct Request {
  std::vector<std::string> places;
  std::vector<std::string> on;
};

// The cases of an operator's book, of a pattern, or of a file of patterns.
Result<std::vector<std::string>> cases_at(const std::string& place) {
  if (const auto named = find_ops(place)) {
    std::set<std::string> texts;  // without the variants that tests name
    for (const OpInfo* op : *named) {
      RIDGE_CLI_TAKE(book, check::find_case_book(op->name));
      for (const auto* list : {&book->tests, &book->benches})
        for (const std::string& text : *list) {
          RIDGE_CLI_TAKE(c, check::Case::parse(text));
          c.options.erase("variant");
          texts.insert(c.text());
        }
    }
    return std::vector(texts.begin(), texts.end());
  }
  RIDGE_CLI_TAKE(patterns, patterns_in(place));
  std::vector<std::string> texts;
  for (const Pattern& pattern : patterns) {
    RIDGE_CLI_TAKE(more, cases_of(pattern.text));
    texts.insert(texts.end(), more.begin(), more.end());
  }
  return texts;
}

// Of a row that a plan is told to take.
std::string account_of(KnownCase known, const std::string& variant, const DeviceInfo& device) {
  known.c.options.set("variant", variant);
  const auto e = explain_case(known, device);
  if (!e) return "no: " + std::string(e.error().message());
  const Analysis& a = e->analysis;
  return fmt::format("{:.9g} {} {} {} {} {}", e->predicted_us, a.blocks, a.threads, a.registers, a.smem_bytes,
                     e->workspace_bytes);
}

Status print_rows(const std::string& text, const DeviceInfo& on) {
  RIDGE_CLI_TAKE(known, find_case(text));
  RIDGE_CLI_TAKE(device, device_of(known.c, on));
  const auto explained = explain_case(known, device);
  const auto line = [&](const std::string& variant, const std::string& says) {
    fmt::print("{} | {} | {} | {}\n", text, device.name, variant, says);
  };
  if (!explained) {
    line("", "no: " + std::string(explained.error().message()));
    return {};
  }
  for (const Candidate& row : explained->candidates)
    line(row.variant,
         !row.fits() ? "no: " + row.refusal
                     : account_of(known, row.variant, device) + (row.variant == explained->variant ? " chosen" : ""));
  return {};
}

Result<int> plans(const Request& request) {
  std::vector<DeviceInfo> devices;
  for (const std::string& name : request.on) {
    RIDGE_CLI_TAKE(device, device_model(name));
    devices.push_back(device);
  }
  if (devices.empty()) devices.assign(device_models().begin(), device_models().end());
  for (const std::string& place : request.places) {
    RIDGE_CLI_TAKE(texts, cases_at(place));
    for (const std::string& text : texts)
      for (const DeviceInfo& device : devices) RIDGE_TRY(print_rows(text, device));
  }
  return exit_done;
}

}  // namespace

void add_plans(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("plans", "What every variant says of itself for many cases, to compare two builds by");
  command
      ->add_option("OP|PATTERN", request->places,
                   "An operator's cases; OP:DTYPE:k=v,... with lists in braces; or a file of patterns")
      ->required();
  command->add_option("--device,--on", request->on, "A device model (ridge devices); once for each (default: all)");
  command->callback([request, &action] { action = [request] { return plans(*request); }; });
}

}  // namespace ridge::cli
