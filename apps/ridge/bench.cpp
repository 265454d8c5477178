// ridge bench: cases timed with a cold cache, beside their peers.
#include "commands.hpp"
#include "json.hpp"
#include "output_file.hpp"
#include "progress.hpp"
#include "request.hpp"
#include "results.hpp"
#include "table.hpp"

#include <ridge/bench/bench.hpp>
#include <ridge/core/tuning.hpp>
#include <ridge/roofline/bound.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <ctime>
#include <fstream>
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

constexpr int gpu_repeats = 30, cpu_repeats = 5;

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// The kernel module's version; null where there is none, and on the CPU.
Json driver_version(const DeviceInfo& device) {
  std::ifstream file("/sys/module/nvidia/version");
  std::string version;
  if (device.is_cpu() || !std::getline(file, version)) return nullptr;
  return version;
}

Json to_json(const bench::Timing& t) { return {{"us", t.us}, {"noise", t.noise}}; }

// Not finite numbers become null.
Json to_json(const bench::Accuracy& a) {
  return {{"rms_error", a.rms_error}, {"largest_error", a.largest_error}, {"elements", a.elements}};
}

Json to_json(const Measurement& m, const bench::PeerMeasurement& peer) {
  Json json{{"name", peer.name},
            {"us", peer.time.us},
            {"noise", peer.time.noise},
            {"times_faster", m.time.us > 0 ? peer.time.us / m.time.us : 0}};
  if (!m.accuracy || !peer.accuracy) return json;
  json["accuracy"] = to_json(*peer.accuracy);
  json["error_ratio"] = {{"rms", bench::error_ratio(m.accuracy->rms_error, peer.accuracy->rms_error)},
                         {"largest", bench::error_ratio(m.accuracy->largest_error, peer.accuracy->largest_error)}};
  return json;
}

Json to_json(const Measurement& m) {
  Json peers = Json::array();
  for (const bench::PeerMeasurement& peer : m.peers) peers.push_back(to_json(m, peer));
  Json json{{"case", m.case_text}, {"variant", m.variant}, {"device", m.device}, {"chosen", m.chosen}};
  if (!m.error.empty()) {
    json["error"] = m.error;
    return json;
  }
  json.update(to_json(m.time));
  json.update({{"gbs", m.gbs},
               {"copy_share", m.copy_share > 0 ? Json(m.copy_share) : Json(nullptr)},
               {"tflops", m.tflops},
               {"predicted_us", m.predicted_us},
               {"least_us", m.least_us},
               {"plan_us", m.plan_us},
               {"accuracy", m.accuracy ? to_json(*m.accuracy) : Json(nullptr)},
               {"peers", peers}});
  return json;
}

// The choices that another row beat, of measurements of all rows.
std::vector<BeatenChoice> beaten_choices(const std::vector<Measurement>& measurements) {
  std::vector<ResultRow> rows;
  for (const Measurement& m : measurements) {
    if (!m.error.empty()) continue;
    ResultRow row;
    row.case_text = m.case_text;
    row.variant = m.variant;
    row.chosen = m.chosen;
    row.us = m.time.us;
    row.noise = m.time.noise;
    rows.push_back(std::move(row));
  }
  return cli::beaten_choices(rows);
}

Json to_json(const BeatenChoice& b) {
  return {{"case", b.case_text},  {"chosen", b.chosen},         {"us", b.chosen_us},
          {"fastest", b.fastest}, {"fastest_us", b.fastest_us}, {"slower", b.slower()}};
}

// What --all-variants says at its end.
void print_beaten(const std::vector<BeatenChoice>& beaten) {
  if (beaten.empty()) {
    std::puts("no row was faster than the plan's choice, by more than the noise");
    return;
  }
  Table table({{"faster than the plan's choice"},
               {"chosen"},
               {"us", Align::right},
               {"fastest"},
               {"us", Align::right},
               {"slower by", Align::right}},
              "  ");
  for (const BeatenChoice& b : beaten)
    table.add({b.case_text, b.chosen, fmt::format("{:.2f}", b.chosen_us), b.fastest,
               fmt::format("{:.2f}", b.fastest_us), fmt::format("{:.1f} %", 100 * b.slower())});
  table.print();
}

Json report(const DeviceInfo& device, const Request& request, const bench::Settings& settings,
            const std::vector<Measurement>& measurements) {
  Json list = Json::array();
  for (const Measurement& m : measurements) list.push_back(to_json(m));
  Json json{{"device", device.name},
            {"device_info", cli::to_json(device)},
            {"driver", driver_version(device)},
            {"ridge", RIDGE_VERSION},
            {"commit", request.commit.empty() ? Json(nullptr) : Json(request.commit)},
            {"date", now_utc()},
            {"settings",
             {{"peers", settings.peers},
              {"all_variants", settings.all_variants},
              {"repeats", settings.repeats},
              {"chain", settings.chain}}},
            {"measurements", list}};
  if (settings.all_variants) {
    Json beaten = Json::array();
    for (const BeatenChoice& b : beaten_choices(measurements)) beaten.push_back(to_json(b));
    json["beaten_choices"] = beaten;
  }
  return json;
}

// The table's widths are known before the first measurement, so each line is printed as soon as it is there.
Table measurement_table(const std::vector<KnownCase>& cases, bool peers) {
  std::size_t case_width = 0, variant_width = 0;
  for (const KnownCase& known : cases) {
    case_width = std::max(case_width, known.c.text().size());
    for (const VariantInfo& v : known.op->variants) variant_width = std::max(variant_width, v.name.size());
  }
  return Table({{"case", Align::left, case_width},
                {"variant", Align::left, variant_width},
                {"us", Align::right, 11},
                {"noise", Align::right, 6},
                {"GB/s (% of copy)", Align::right},
                {"TFLOP/s", Align::right, 8},
                {peers ? "x peer (rms and largest error over the peer's)" : "x peer"}});
}

std::string peers_text(const Measurement& m) {
  std::string text;
  for (const bench::PeerMeasurement& peer : m.peers) {
    text += fmt::format("{}{:.2f}x {}", text.empty() ? "" : ", ", m.time.us > 0 ? peer.time.us / m.time.us : 0.0,
                        peer.name);
    if (m.accuracy && peer.accuracy)
      text += fmt::format(" ({:.2f}, {:.2f})", bench::error_ratio(m.accuracy->rms_error, peer.accuracy->rms_error),
                          bench::error_ratio(m.accuracy->largest_error, peer.accuracy->largest_error));
  }
  return text.empty() ? "-" : text;
}

// Three digits, from a CPU's fraction to a GPU's thousands.
std::string rate_text(double rate) {
  return rate >= 100 ? fmt::format("{:.0f}", rate) : rate >= 0.001 ? fmt::format("{:.3g}", rate) : "<0.001";
}

void print_line(const Table& table, const Measurement& m) {
  if (!m.error.empty()) {
    table.print_row({m.case_text, m.variant, "-", "-", "-", "-", m.error});
    return;
  }
  const std::string share = m.copy_share > 0 ? fmt::format(" ({:3.0f} %)", 100 * m.copy_share) : "";
  table.print_row({m.case_text, m.variant, fmt::format("{:.2f}", m.time.us),
                   fmt::format("{:.1f} %", 100 * m.time.noise), rate_text(m.gbs) + share,
                   m.tflops > 0 ? rate_text(m.tflops) : "-", peers_text(m)});
}

Status check_json_target(const std::string& target) {
  if (target == "-") return {};
  if (target.find(':') != std::string::npos || find_op(target))
    return Status::error(Code::invalid_argument, "--json takes a file, and '" + target +
                                                     "' is a case or an operator; give --json last, or "
                                                     "--json - for standard output");
  const auto file = OutputFile::create(target);  // refuses now what could not be written after minutes of work
  return file ? Status{} : file.error();
}

// The tuning to add to: that of the file, where there is one.
Result<Tuning> tuning_of(const Request& request) {
  if (!request.all_variants)
    return Status::error(Code::invalid_argument, "--tune needs --all-variants: it keeps the fastest of them");
  if (std::filesystem::exists(request.tune)) return Tuning::read(request.tune);
  RIDGE_TRY(Tuning{}.write(request.tune));  // refuses now what could not be written after minutes of work
  return Tuning{};
}

// Keeps the fastest variant of one case, where its plans look into a tuning.
void keep_fastest(const std::vector<Measurement>& of_case, Tuning& tuning) {
  const Measurement* fastest = nullptr;
  for (const Measurement& m : of_case)
    if (m.error.empty() && is_tuned(m.op) && (!fastest || m.time.us < fastest->time.us)) fastest = &m;
  if (fastest) tuning.set(fastest->device, fastest->op, fastest->problem, {fastest->variant, fastest->time.us});
}

Result<int> measure(const Request& request) {
  const bool json_only = request.json == "-";
  RIDGE_CLI_TAKE(device, choose_device(request.device));
  RIDGE_CLI_TAKE(cases, select_cases(request.what, &check::CaseBook::benches));
  if (request.json) RIDGE_TRY(check_json_target(*request.json));
  Tuning tuning;
  if (!request.tune.empty()) {
    RIDGE_CLI_TAKE(before, tuning_of(request));
    tuning = std::move(before);
  }
  const bench::Settings settings{.peers = request.peers,
                                 .all_variants = request.all_variants,
                                 .repeats = request.repeats > 0 ? request.repeats
                                            : device.is_cpu()   ? cpu_repeats
                                                                : gpu_repeats,
                                 .chain = request.chain};

  if (!json_only) std::printf("%s: %s\n", device.id_text().c_str(), device.name.c_str());
  const Table table = measurement_table(cases, settings.peers);
  if (!json_only) table.print_titles();
  std::vector<Measurement> measurements;
  {
    Progress progress("measuring", cases.size());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      progress.step(i, cases[i].c.text());
      const auto of_case = bench::measure(cases[i].c, device, settings);
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
  if (settings.all_variants && !json_only) print_beaten(beaten_choices(measurements));
  if (!request.tune.empty()) {
    RIDGE_TRY(tuning.write(request.tune));
    if (!json_only) std::printf("%zu problems in %s\n", tuning.size(), request.tune.c_str());
  }
  if (!request.json) return exit_done;
  const std::string text = dump(report(device, request, settings, measurements));
  if (json_only) {
    std::fputs(text.c_str(), stdout);
    return exit_done;
  }
  RIDGE_CLI_TAKE(file, OutputFile::create(*request.json));
  RIDGE_TRY(file.write(text));
  RIDGE_TRY(file.commit());
  std::printf("results in %s\n", request.json->c_str());
  return exit_done;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  struct Arguments : Request {
    std::string json_target = "-";
  };
  auto request = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand("bench", "Measure with a cold cache, beside the peers");
  command->add_option("CASE|OP", request->what, "Cases (OP:DTYPE:k=v,k=v...) or operators (default: all benchmarks)");
  command->add_flag("--peers", request->peers, "Measure CUB, cuBLAS, ... in the same run, and errors beside theirs");
  command->add_flag("--all-variants", request->all_variants, "Every row of the table, not the chosen one alone");
  command->add_option("--device", request->device, "cpu, cuda or cuda:N (default: a GPU if there is one)");
  command->add_option("--repeats", request->repeats, "Runs whose median counts")->check(CLI::Range(1, 100000));
  command->add_option("--chain", request->chain, "On a GPU: so many runs in one graph, beside as many empty kernels")
      ->check(CLI::Range(1, 10000));
  command->add_option("--tune", request->tune,
                      "Keep the fastest variants in a file, which plans take when RIDGE_TUNE_CACHE names it");
  command->add_option("--commit", request->commit, "A text for the results' field `commit`");
  CLI::Option* json =
      command->add_option("--json", request->json_target, "Write results to a file; - prints them")->expected(0, 1);
  command->callback([request, json, &action] {
    if (json->count() > 0) request->json = request->json_target.empty() ? "-" : request->json_target;
    action = [request] { return measure(*request); };
  });
}

}  // namespace ridge::cli
