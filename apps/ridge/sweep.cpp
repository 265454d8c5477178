#include "sweep.hpp"

#include "check_results.hpp"
#include "choices.hpp"
#include "commands.hpp"
#include "measurements.hpp"
#include "progress.hpp"
#include "request.hpp"
#include "table.hpp"
#include "terminal.hpp"

#include <ridge/bench/sweep.hpp>
#include <ridge/check/draw.hpp>
#include <ridge/check/harness.hpp>

#include <fmt/core.h>

#include <cstdio>
#include <filesystem>
#include <vector>

namespace ridge::cli {
namespace {

using bench::Measurement;

// The device's kind decides how large problems are; to list them it need not be here.
Result<check::Room> room_for(const SweepRequest& request) {
  if (request.list && request.device.starts_with("cuda")) return check::room_of_gpu;
  RIDGE_CLI_TAKE(device, choose_device(request.device));
  return device.is_cpu() ? check::room_of_cpu : check::room_of_gpu;
}

Result<std::vector<KnownCase>> drawn_cases(const SweepRequest& request) {
  RIDGE_CLI_TAKE(book, check::find_case_book(request.op));
  if (!book->draw) {
    std::string having;
    for (const check::CaseBook* other : check::case_books())
      if (other->draw) having += (having.empty() ? "" : " ") + other->op;
    return Status::error(
        Code::unsupported,
        "operator '" + request.op + "' does not say which problems models have; --sweep takes one of " + having);
  }
  RIDGE_CLI_TAKE(room, room_for(request));
  std::vector<KnownCase> cases;
  for (std::uint64_t problem = 0; problem < request.count; ++problem) {
    check::Draw draw(request.seed, problem, room);
    RIDGE_CLI_TAKE(drawn, check::drawn_case(*book, draw));
    RIDGE_CLI_TAKE(known, find_case(drawn.text()));
    cases.push_back(std::move(known));
  }
  return cases;
}

// What every sweep's results begin with.
Json heading(const SweepRequest& request, const DeviceInfo& device) {
  Json json = provenance(device, request.commit);
  json.update({{"operator", request.op}, {"seed", request.seed}, {"count", request.count}});
  return json;
}

// Whether it may be written anew: a pipe takes one text.
bool is_file(const std::string& path) {
  std::error_code error;
  const auto type = std::filesystem::status(path, error).type();
  return type == std::filesystem::file_type::regular || type == std::filesystem::file_type::not_found;
}

Status finish(const SweepRequest& request, const Json& results) {
  if (!request.json) return {};
  if (request.json == "-") {
    std::fputs(dump(results).c_str(), stdout);
    return {};
  }
  RIDGE_TRY(write_results(*request.json, results));
  say("results in {}\n", *request.json);
  return {};
}

// ---- checked --------------------------------------------------------------------------------------------------------

Result<int> check_all(const SweepRequest& request, const std::vector<KnownCase>& cases, const DeviceInfo& device) {
  CheckResults results;
  {
    Progress progress("checking", cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      progress.step(i, cases[i].c.text());
      const auto outcomes = check::run_case(cases[i].c, device, false);
      results.add(request.op, outcomes);
      for (const check::Outcome& outcome : outcomes) {
        if (outcome.kind != check::Outcome::failed || request.json == "-") continue;
        progress.erase();
        print_failure(outcome);
        std::fflush(stdout);
      }
    }
  }
  if (request.json != "-") print_summary(results);
  Json json = heading(request, device);
  json.update(to_json(results));
  RIDGE_TRY(finish(request, json));
  return results.failed > 0 ? exit_check_failed : exit_done;
}

// ---- measured -------------------------------------------------------------------------------------------------------

Json worst_json(const Measurement& m) {
  const bench::PeerMeasurement& peer = *bench::best_peer(m);
  return {{"case", m.case_text}, {"variant", m.variant},    {"ridge_us", m.time.us},
          {"peer", peer.name},   {"peer_us", peer.time.us}, {"times_faster", bench::times_faster(m)}};
}

Json furthest_json(const Measurement& m) {
  return {{"case", m.case_text}, {"variant", m.variant}, {"ridge_us", m.time.us}, {"predicted_us", m.predicted_us}};
}

Json to_json(const SweepRequest& request, const DeviceInfo& device, const bench::Settings& settings,
             const std::vector<Measurement>& measurements, const bench::Sweep& s) {
  Json worst = Json::array(), furthest = Json::array(), failed = Json::array(), alone = Json::array(),
       all = Json::array();
  for (const Measurement* m : s.worst) worst.push_back(worst_json(*m));
  for (const Measurement* m : s.furthest) furthest.push_back(furthest_json(*m));
  for (const Measurement* m : s.failed) failed.push_back({{"case", m->case_text}, {"why", m->error}});
  for (const Measurement* m : s.alone) alone.push_back(m->case_text);
  for (const Measurement& m : measurements) all.push_back(cli::to_json(m));
  const bool beside = s.measured > s.alone.size();
  Json json = heading(request, device);
  json.update({{"settings", {{"peers", true}, {"repeats", settings.repeats}}},
               {"measured", s.measured},
               {"geomean", beside ? Json(s.geomean) : Json(nullptr)},
               {"p5", beside ? Json(s.p5) : Json(nullptr)},
               {"median_times_off", s.measured ? Json(s.median_times_off) : Json(nullptr)},
               {"worst", worst},
               {"furthest", furthest},
               {"failed", failed},
               {"without_peer", alone},
               {"measurements", all}});
  return json;
}

void print(const bench::Sweep& s) {
  say("\n{} measured, {} of them without a peer; {} could not be measured\n", s.measured, s.alone.size(),
      s.failed.size());
  for (const Measurement* m : s.failed) say("  {}: {}\n", m->case_text, m->error);
  if (!s.worst.empty()) {
    say("beside the fastest peer: geometric mean {:.3f}x, 5th percentile {:.3f}x\n", s.geomean, s.p5);
    Table table({{"the worst beside the fastest peer"},
                 {"variant"},
                 {"us", Align::right},
                 {"peer"},
                 {"us", Align::right},
                 {"x peer", Align::right}},
                "  ");
    for (const Measurement* m : s.worst) {
      const bench::PeerMeasurement& peer = *bench::best_peer(*m);
      table.add({m->case_text, m->variant, fmt::format("{:.2f}", m->time.us), peer.name,
                 fmt::format("{:.2f}", peer.time.us), fmt::format("{:.3f}", bench::times_faster(*m))});
    }
    table.print();
  }
  if (s.furthest.empty()) return;
  say("of the predictions half are within {:.2f}x\n", s.median_times_off);
  Table table({{"the furthest from what was predicted"},
               {"variant"},
               {"us", Align::right},
               {"predicted", Align::right},
               {"times", Align::right}},
              "  ");
  for (const Measurement* m : s.furthest)
    table.add({m->case_text, m->variant, fmt::format("{:.2f}", m->time.us), fmt::format("{:.2f}", m->predicted_us),
               fmt::format("{:.2f}", m->time.us / m->predicted_us)});
  table.print();
}

Result<int> measure_all(const SweepRequest& request, const std::vector<KnownCase>& cases, const DeviceInfo& device) {
  const bool json_only = request.json == "-";
  bench::Settings settings{
      .peers = true, .near_variants = request.tuned, .repeats = request.repeats > 0 ? request.repeats : gpu_repeats};
  if (!json_only) say("{}: {}\n", device.id_text(), device.name);
  const Table table = measurement_table(cases, true);
  if (!json_only) table.print_titles();
  std::vector<Measurement> measurements;  // of the plans' choices
  std::vector<ResultRow> rows;            // and of the variants near them
  const auto results = [&](const bench::Sweep& summary) {
    Json json = to_json(request, device, settings, measurements, summary);
    if (request.tuned)
      json["tuned"] = {{"geomean", choices_over_fastest(rows)}, {"worst", to_json(beaten_choices(rows))}};
    return json;
  };
  Progress progress("measuring", cases.size());
  settings.on_turn = shown_by(progress);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    progress.step(i, cases[i].c.text());
    const auto of_case = bench::measure(cases[i].c, device, settings);
    for (ResultRow& row : rows_of(of_case)) rows.push_back(std::move(row));
    for (const Measurement& m : of_case) {
      progress.erase();
      if (!json_only) print_line(table, m);
      std::fflush(stdout);
      if (m.chosen || !m.error.empty()) measurements.push_back(m);
    }
    if (!request.json || json_only || !is_file(*request.json) || (i + 1) % 20 != 0) continue;
    // So that a run that is ended keeps what it has.
    RIDGE_TRY(write_results(*request.json, results(bench::summarise(measurements))));
  }
  progress.erase();
  const bench::Sweep summary = bench::summarise(measurements);
  if (!json_only) {
    print(summary);
    if (request.tuned) {
      say("the plan's choices take {:.3f}x as long as the fastest near them (geometric mean)\n",
          choices_over_fastest(rows));
      print(beaten_choices(rows));
    }
  }
  RIDGE_TRY(finish(request, results(summary)));
  return summary.measured > 0 ? exit_done : exit_check_failed;
}

}  // namespace

Result<int> sweep(const SweepRequest& request) {
  RIDGE_CLI_TAKE(cases, drawn_cases(request));
  if (request.list) {
    for (const KnownCase& known : cases) say("{}\n", known.c.text());
    return exit_done;
  }
  if (request.json) RIDGE_TRY(check_json_target(*request.json));
  RIDGE_CLI_TAKE(device, choose_device(request.device));
  return device.is_cpu() ? check_all(request, cases, device) : measure_all(request, cases, device);
}

}  // namespace ridge::cli
