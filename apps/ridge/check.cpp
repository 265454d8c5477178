// ridge check: cases against the oracle.
#include "check_results.hpp"
#include "commands.hpp"
#include "progress.hpp"
#include "request.hpp"

#include <ridge/check/harness.hpp>

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
  CheckResults results;
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
  command->add_option("--device,--on", request->device, "cpu, cuda or cuda:N (default: a GPU if there is one)");
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([request, &action] { action = [request] { return check(*request); }; });
}

}  // namespace ridge::cli
