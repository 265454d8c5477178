// ridge bench: cases timed with a cold cache, beside their peers.
#include "choices.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "measurements.hpp"
#include "progress.hpp"
#include "request.hpp"
#include "sweep.hpp"
#include "table.hpp"
#include "terminal.hpp"

#include <ridge/bench/bench.hpp>
#include <ridge/core/output_file.hpp>
#include <ridge/core/tuning.hpp>
#include <ridge/roofline/bound.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ridge::cli {
namespace {

using bench::Measurement;

struct Request {
  std::vector<std::string> what;
  std::string device, commit;
  std::optional<std::string> json;  // a file, or "-" for standard output
  std::string tune;                 // a file; empty: none
  bool peers = false, all_variants = false;
  int repeats = 0;  // 0: as many as suit the device
  int chain = 0;    // 0: none asked for
};

constexpr int cpu_repeats = 5;

Json report(const DeviceInfo& device, const Request& request, const bench::Settings& settings,
            const std::vector<Measurement>& measurements) {
  Json list = Json::array();
  for (const Measurement& m : measurements) list.push_back(cli::to_json(m));
  Json json = provenance(device, request.commit);
  json.update({{"settings",
                {{"peers", settings.peers},
                 {"all_variants", settings.all_variants},
                 {"repeats", settings.repeats},
                 {"chain", settings.chain}}},
               {"measurements", list}});
  if (settings.all_variants) {
    const std::vector<ResultRow> rows = rows_of(measurements);
    json["choices_over_fastest"] = choices_over_fastest(rows);
    json["beaten_choices"] = to_json(beaten_choices(rows));
  }
  return json;
}

// Keeps the fastest variant of one case, whose tensors are packed and aligned as the problem's text takes them to be.
void keep_fastest(const std::vector<Measurement>& of_case, Tuning& tuning) {
  const Measurement* fastest = nullptr;
  for (const Measurement& m : of_case)
    if (m.error.empty() && m.case_text.find(":place=") == std::string::npos &&
        (!fastest || m.time.us < fastest->time.us))
      fastest = &m;
  if (fastest) tuning.set(fastest->device, fastest->op, fastest->problem, {fastest->variant, fastest->time.us});
}

Result<int> measure(const Request& request) {
  const bool json_only = request.json == "-";
  RIDGE_CLI_TAKE(device, choose_device(request.device));
  RIDGE_CLI_TAKE(cases, select_cases(request.what, &check::CaseBook::benches));
  if (request.json) RIDGE_TRY(check_json_target(*request.json));
  Tuning tuning;
  if (!request.tune.empty()) {
    if (!request.all_variants)
      return Status::error(Code::invalid_argument, "--tune needs --all-variants: it keeps the fastest of them");
    RIDGE_TRY(tuning.add_to(request.tune));  // refuses now what could not be written after minutes of work
  }
  const bench::Settings settings{.peers = request.peers,
                                 .all_variants = request.all_variants,
                                 .repeats = request.repeats > 0 ? request.repeats
                                            : device.is_cpu()   ? cpu_repeats
                                                                : gpu_repeats,
                                 .chain = request.chain};

  if (!json_only) say("{}: {}\n", device.id_text(), device.name);
  const Table table = measurement_table(cases, settings.peers);
  if (!json_only) table.print_titles();
  std::vector<Measurement> measurements;
  {
    Progress progress("measuring", cases.size());
    bench::Settings watched = settings;
    watched.on_turn = shown_by(progress);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      progress.step(i, cases[i].c.text());
      const auto of_case = bench::measure(cases[i].c, device, watched);
      // A case that the user wrote and nothing takes is a wrong request.
      if (cases[i].given && of_case.size() == 1 && !of_case[0].error.empty())
        return Status::error(Code::unsupported, of_case[0].error);
      keep_fastest(of_case, tuning);
      for (const Measurement& m : of_case) {
        measurements.push_back(m);
        if (json_only) continue;
        progress.erase();
        print_line(table, m);
        std::fflush(stdout);
      }
    }
  }
  if (settings.all_variants && !json_only) print(beaten_choices(rows_of(measurements)));
  if (!request.tune.empty()) {
    RIDGE_TRY(tuning.add_to(request.tune));
    if (!json_only) say("{} problems added to {}\n", tuning.size(), request.tune);
  }
  if (!request.json) return exit_done;
  const Json results = report(device, request, settings, measurements);
  if (json_only) {
    std::fputs(dump(results).c_str(), stdout);
    return exit_done;
  }
  RIDGE_TRY(write_results(*request.json, results));
  say("results in {}\n", *request.json);
  return exit_done;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  struct Arguments : Request {
    std::string json_target = "-";
    SweepRequest sweep;
  };
  auto request = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("bench", "Measure with a cold cache, beside the peers");
  CLI::Option* what = command->add_option("CASE|OP", request->what,
                                          "Cases (OP:DTYPE:k=v,k=v...) or operators (default: all benchmarks)");
  command->add_flag("--peers", request->peers, "Measure CUB, cuBLAS, ... in the same run, and errors beside theirs");
  CLI::Option* all =
      command->add_flag("--all-variants", request->all_variants, "Every row of the table, not the chosen one alone");
  command->add_option("--device,--on", request->device, "cpu, cuda or cuda:N (default: a GPU if there is one)");
  command->add_option("--repeats", request->repeats, "Runs whose median counts")->check(CLI::Range(1, 100000));
  CLI::Option* chain = command->add_option("--chain", request->chain,
                                           "On a GPU: so many runs in one graph, beside as many empty kernels");
  chain->check(CLI::Range(1, 10000));
  CLI::Option* tune = command->add_option(
      "--tune", request->tune, "Keep the fastest variants in a file, which plans take when RIDGE_TUNE_CACHE names it");
  command->add_option("--commit", request->commit, "A text for the results' field `commit`");
  CLI::Option* json =
      command->add_option("--json", request->json_target, "Write results to a file; - prints them")->expected(0, 1);

  SweepRequest& of = request->sweep;
  CLI::Option* sweep = command->add_option(
      "--sweep", of.op,
      "Problems of OP at random, as models have them: the mean, the worst beside the peers and the furthest from what "
      "was predicted; without a GPU, whether results are right");
  sweep->type_name("OP")->excludes(what)->excludes(all)->excludes(chain)->excludes(tune);
  command->add_option("--seed", of.seed, "Of a sweep: other problems for each (1)")->needs(sweep);
  command->add_option("--count", of.count, "Of a sweep: how many problems (100)")
      ->needs(sweep)
      ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--list", of.list, "Of a sweep: its cases alone, a line each; with --device cpu the small ones")
      ->needs(sweep);
  command
      ->add_flag("--tuned", of.tuned, "Of a sweep: what the plan's choices lose against those that tuning would make")
      ->needs(sweep);
  command->callback([request, json, sweep, &action] {
    if (json->count() > 0) {
      request->json = request->json_target.empty() ? "-" : request->json_target;
      if (const auto place = OutputFile::check(*request->json); place && place->standard_output) request->json = "-";
    }
    if (sweep->count() == 0) {
      action = [request] { return measure(*request); };
      return;
    }
    request->sweep.device = request->device;
    request->sweep.commit = request->commit;
    request->sweep.json = request->json;
    request->sweep.repeats = request->repeats;
    action = [request] { return cli::sweep(request->sweep); };
  });
}

}  // namespace ridge::cli
