#include "check_results.hpp"

#include "table.hpp"
#include "terminal.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

namespace ridge::cli {

using check::Outcome;

void CheckResults::add(const std::string& op, const std::vector<Outcome>& of_case) {
  if (tallies.empty() || tallies.back().op != op) tallies.push_back({.op = op});
  Tally& tally = tallies.back();
  ++tally.cases;
  for (const Outcome& outcome : of_case) {
    ++(outcome.kind == Outcome::passed ? tally.passed : outcome.kind == Outcome::failed ? tally.failed : tally.refused);
    tally.worst = std::max(tally.worst, outcome.kind == Outcome::passed ? outcome.worst : 0);
    failed += outcome.kind == Outcome::failed;
    outcomes.push_back(outcome);
  }
}

void print_failure(const Outcome& outcome) {
  say("FAILED  {}  ({}, {})\n", outcome.case_text, outcome.variant, outcome.device);
  say_lines("        " + outcome.why + "\n");
}

void print_summary(const CheckResults& results) {
  Table table({{"operator"},
               {"cases", Align::right},
               {"passed", Align::right},
               {"refused", Align::right},
               {"failed", Align::right},
               {"worst error / tolerance", Align::right}});
  CheckResults::Tally all{.op = "all"};
  const auto row = [&](const CheckResults::Tally& t) {
    table.add({t.op, std::to_string(t.cases), std::to_string(t.passed), std::to_string(t.refused),
               std::to_string(t.failed), t.worst > 0 ? fmt::format("{:.3f}", t.worst) : "exact"});
  };
  for (const CheckResults::Tally& tally : results.tallies) {
    row(tally);
    all.cases += tally.cases;
    all.passed += tally.passed;
    all.refused += tally.refused;
    all.failed += tally.failed;
    all.worst = std::max(all.worst, tally.worst);
  }
  if (results.tallies.size() > 1) row(all);
  table.print();
}

static std::string_view kind_name(Outcome::Kind kind) {
  return kind == Outcome::passed ? "passed" : kind == Outcome::failed ? "failed" : "refused";
}

Json to_json(const CheckResults& results) {
  Json summary = Json::array(), outcomes = Json::array();
  for (const CheckResults::Tally& t : results.tallies)
    summary.push_back({{"operator", t.op},
                       {"cases", t.cases},
                       {"passed", t.passed},
                       {"refused", t.refused},
                       {"failed", t.failed},
                       {"worst_share_of_tolerance", t.worst}});
  for (const Outcome& o : results.outcomes)
    outcomes.push_back({{"case", o.case_text},
                        {"variant", o.variant},
                        {"device", o.device},
                        {"outcome", std::string(kind_name(o.kind))},
                        {"why", o.why},
                        {"elements", o.elements},
                        {"worst_share_of_tolerance", o.worst}});
  return {{"failed", results.failed}, {"operators", summary}, {"outcomes", outcomes}};
}

}  // namespace ridge::cli
