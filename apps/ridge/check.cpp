// ridge check: cases against the oracle.
#include "commands.hpp"
#include "json.hpp"
#include "progress.hpp"
#include "request.hpp"
#include "table.hpp"

#include <ridge/check/harness.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace ridge::cli {
namespace {

using check::Outcome;

struct Request {
  std::vector<std::string> what;
  std::string variant, device;
  bool json = false;
};

struct Tally {
  std::string op;
  int cases = 0, passed = 0, refused = 0, failed = 0;
  double worst = 0;
};

struct Results {
  std::vector<Tally> tallies;  // by operator, in the order they were run
  std::vector<Outcome> outcomes;
  int failed = 0;

  void add(const std::string& op, const std::vector<Outcome>& of_case) {
    if (tallies.empty() || tallies.back().op != op) tallies.push_back({.op = op});
    Tally& tally = tallies.back();
    ++tally.cases;
    for (const Outcome& outcome : of_case) {
      ++(outcome.kind == Outcome::passed   ? tally.passed
         : outcome.kind == Outcome::failed ? tally.failed
                                           : tally.refused);
      tally.worst = std::max(tally.worst, outcome.kind == Outcome::passed ? outcome.worst : 0);
      failed += outcome.kind == Outcome::failed;
      outcomes.push_back(outcome);
    }
  }
};

void print_failure(const Outcome& outcome) {
  std::printf("FAILED  %s  (%s, %s)\n        %s\n", outcome.case_text.c_str(), outcome.variant.c_str(),
              outcome.device.c_str(), outcome.why.c_str());
}

void print_summary(const Results& results) {
  Table table({{"operator"},
               {"cases", Align::right},
               {"passed", Align::right},
               {"refused", Align::right},
               {"failed", Align::right},
               {"worst error / tolerance", Align::right}});
  Tally all{.op = "all"};
  const auto row = [&](const Tally& t) {
    table.add({t.op, std::to_string(t.cases), std::to_string(t.passed), std::to_string(t.refused),
               std::to_string(t.failed), t.worst > 0 ? fmt::format("{:.3f}", t.worst) : "exact"});
  };
  for (const Tally& tally : results.tallies) {
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

std::string_view kind_name(Outcome::Kind kind) {
  return kind == Outcome::passed ? "passed" : kind == Outcome::failed ? "failed" : "refused";
}

Json to_json(const Results& results) {
  Json summary = Json::array(), outcomes = Json::array();
  for (const Tally& t : results.tallies)
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

// Keeps the cases whose operators have the variant. An operator that was asked for by name must have it.
Status choose_variant(std::vector<KnownCase>& cases, const std::string& variant, bool by_name) {
  if (variant.empty() || variant == "all") return {};
  const auto lacks = [&](const KnownCase& known) { return !check_variant(*known.op, variant).ok(); };
  const auto lacking = std::ranges::find_if(cases, lacks);
  if (by_name && lacking != cases.end()) return check_variant(*lacking->op, variant);
  std::erase_if(cases, lacks);
  if (cases.empty())
    return Status::error(Code::invalid_argument,
                         "variant is '" + variant + "', and no operator has it; see ridge ops for their variants");
  for (KnownCase& known : cases) known.c.options.set("variant", variant);
  return {};
}

bool did_not_run(const Outcome& outcome) { return outcome.kind == Outcome::refused || outcome.variant.empty(); }

Result<int> check(const Request& request) {
  RIDGE_CLI_TAKE(device, choose_device(request.device));
  RIDGE_CLI_TAKE(cases, select_cases(request.what, &check::CaseBook::tests));
  RIDGE_TRY(choose_variant(cases, request.variant, !request.what.empty()));
  Results results;
  {
    Progress progress("checking", cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const KnownCase& known = cases[i];
      progress.step(i, known.c.text());
      const auto outcomes = check::run_case(known.c, device, request.variant == "all");
      // A case that the user wrote and nothing takes is a wrong request; in a book it is a line of the table. An
      // outcome without a variant never came to run one.
      if (known.given && std::ranges::all_of(outcomes, did_not_run))
        return Status::error(Code::unsupported, outcomes.front().why);
      results.add(known.c.op, outcomes);
      for (const Outcome& outcome : outcomes) {
        if (request.json || outcome.kind != Outcome::failed) continue;
        progress.erase();
        print_failure(outcome);
      }
    }
  }
  if (request.json) std::fputs(dump(to_json(results)).c_str(), stdout);
  else print_summary(results);
  return results.failed > 0 ? exit_check_failed : exit_done;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("check", "Compare with the oracle; exit 1 on a mismatch");
  command->add_option("CASE|OP", request->what, "Cases (OP:DTYPE:k=v,k=v...) or operators (default: all cases)");
  command->add_option("--variant", request->variant, "all, or one by name (default: the one that the plan chooses)");
  command->add_option("--device", request->device, "cpu, cuda or cuda:N (default: a GPU if there is one)");
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([request, &action] { action = [request] { return check(*request); }; });
}

}  // namespace ridge::cli
