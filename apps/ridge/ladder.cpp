// ridge ladder: every row of an operator's table in order, what each changes and what that gains.
#include "commands.hpp"
#include "json.hpp"
#include "progress.hpp"
#include "request.hpp"
#include "results.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "trace_program.hpp"
#include "traced.hpp"

#include <ridge/bench/bench.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace ridge::cli {
namespace {

struct Request {
  std::string op;
  std::vector<std::string> cases;
  std::string device, from;
  bool counts = false, markdown = false, json = false;
  int repeats = 10;
};

// A row of the table on one case. What it costs is a time; where there is no GPU, that of the CPU runtime.
struct Rung {
  VariantInfo variant;
  std::string refusal;  // empty: it was run
  double us = 0;
  double share = 0;     // of the roof: the least time over this one
  double speed_up = 0;  // over the rung before it that was run; 0: there is none
  bool chosen = false;
};

struct Ladder {
  std::string case_text, device;
  double least_us = 0;
  std::vector<Rung> rungs;
};

// The case without an option that asks for one row.
Result<KnownCase> find_ladder_case(const Request& request, const std::string& text) {
  RIDGE_CLI_TAKE(known, find_case(text));
  if (known.c.op != request.op) return Status::invalid("ladder", "case", text, "one of operator " + request.op);
  if (known.c.options.has("variant"))
    return Status::invalid("ladder", "case", text, "without variant=: a ladder runs every row");
  return known;
}

// What the published table is about; on the CPU runtime a case of the tests, which takes milliseconds: of those that
// the most rows take, the largest in float32.
Result<std::string> usual_case(const Request& request, const DeviceInfo& device) {
  RIDGE_CLI_TAKE(book, check::find_case_book(request.op));
  if (!device.is_cpu() && !book->benches.empty()) return book->benches.front();
  std::string best;
  std::tuple<std::ptrdiff_t, bool, std::size_t> most{};
  for (const std::string& text : book->tests) {
    RIDGE_CLI_TAKE(known, find_case(text));
    const auto has = [&](const char* option) { return known.c.options.has(option); };
    if (has("place") || has("fill") || has("warp") || has("variant")) continue;
    const auto explanation = explain_case(known, device);
    if (!explanation) continue;
    std::size_t bytes = 0;
    for (const TensorType& input : known.inputs) {
      RIDGE_CLI_TAKE(size, bytes_of(known.c.op, "input", input));
      bytes += size;
    }
    const std::tuple rank{std::ranges::count_if(explanation->candidates, &Candidate::fits), known.c.dtype == DType::f32,
                          bytes};
    if (best.empty() || rank > most) most = rank, best = text;
  }
  if (best.empty()) return Status::invalid("ladder", "case", "none", "given: " + request.op + " has no usual one");
  return best;
}

Result<Ladder> climb(const KnownCase& known, const DeviceInfo& device, const std::vector<ResultRow>& measured) {
  RIDGE_CLI_TAKE(explanation, explain_case(known, device));
  Ladder ladder{known.c.text(), device.name, explanation.least_us, {}};
  double before = 0;
  for (const VariantInfo& variant : known.op->variants) {
    Rung rung{.variant = variant, .refusal = "not measured"};
    const auto candidate = std::ranges::find(explanation.candidates, variant.name, &Candidate::variant);
    if (candidate != explanation.candidates.end() && !candidate->fits()) rung.refusal = candidate->refusal;
    for (const ResultRow& row : measured)
      if (row.case_text == ladder.case_text && row.variant == variant.name) {
        rung.refusal.clear();
        rung.us = row.us;
        rung.share = explanation.least_us / row.us;
        rung.speed_up = before > 0 ? before / row.us : 0;
        rung.chosen = explanation.variant == variant.name;
        before = row.us;
        break;
      }
    ladder.rungs.push_back(std::move(rung));
  }
  return ladder;
}

Result<std::vector<ResultRow>> measure(const KnownCase& known, const DeviceInfo& device, int repeats) {
  std::vector<ResultRow> rows;
  Progress progress("measuring");
  progress.step(0, known.c.text());
  for (const bench::Measurement& m :
       bench::measure(known.c, device, {.peers = false, .all_variants = true, .repeats = repeats})) {
    if (!m.error.empty()) return Status::error(Code::unsupported, m.error);
    ResultRow row;
    row.case_text = known.c.text();
    row.variant = m.variant;
    row.us = m.time.us;
    rows.push_back(std::move(row));
  }
  return rows;
}

// ---- output --------------------------------------------------------------------------------------------------------

std::string percent(double share) {
  return share < 0.01 ? fmt::format("{:.2g} %", 100 * share) : fmt::format("{:.0f} %", 100 * share);
}
std::string times(double ratio) {
  return ratio <= 0 ? "-" : ratio < 10 ? fmt::format("{:.2f}x", ratio) : fmt::format("{:.0f}x", ratio);
}

void print(const Ladder& ladder) {
  say("{} on {}, at least {}\n", ladder.case_text, ladder.device, time_text(ladder.least_us));
  Table table({{"variant"},
               {"time", Align::right},
               {"of the roof", Align::right},
               {"x previous", Align::right},
               {"item"},
               {"what it changes"}},
              "  ");
  for (const Rung& r : ladder.rungs) {
    const std::string name = std::string(r.variant.name) + (r.chosen ? " *" : "");
    const std::string item = r.variant.item.empty() ? "-" : std::string(r.variant.item);
    if (r.refusal.empty())
      table.add({name, time_text(r.us), percent(r.share), times(r.speed_up), item, std::string(r.variant.step)});
    else table.add({name, "-", "-", "-", item, "no: " + r.refusal});
  }
  table.print();
  std::puts("  * what the plan chooses");
}

// The table of the operator's README: a column for each case.
void print_markdown(const std::vector<Ladder>& ladders) {
  std::string titles = "| variant | what it changes | item |", rule = "| --- | --- | --- |";
  for (const Ladder& l : ladders) {
    titles += " " + l.case_text.substr(l.case_text.find(':') + 1) + " |";
    rule += " --- |";
  }
  say("{}\n{}\n", titles, rule);
  for (std::size_t i = 0; i < ladders.front().rungs.size(); ++i) {
    const VariantInfo& variant = ladders.front().rungs[i].variant;
    std::string line = fmt::format("| `{}` | {} | {} |", variant.name, variant.step, variant.item);
    for (const Ladder& l : ladders) {
      const Rung& r = l.rungs[i];
      line += r.refusal.empty() ? fmt::format(" {}, {} |", time_text(r.us), percent(r.share)) : " |";
    }
    say("{}\n", line);
  }
}

Json to_json(const Ladder& ladder) {
  Json rungs = Json::array();
  for (const Rung& r : ladder.rungs)
    rungs.push_back({{"variant", std::string(r.variant.name)},
                     {"step", std::string(r.variant.step)},
                     {"item", r.variant.item.empty() ? Json(nullptr) : Json(std::string(r.variant.item))},
                     {"reason", r.refusal},
                     {"us", r.refusal.empty() ? Json(r.us) : Json(nullptr)},
                     {"share", r.refusal.empty() ? Json(r.share) : Json(nullptr)},
                     {"speed_up", r.speed_up > 0 ? Json(r.speed_up) : Json(nullptr)},
                     {"chosen", r.chosen}});
  return {{"case", ladder.case_text}, {"device", ladder.device}, {"least_us", ladder.least_us}, {"rungs", rungs}};
}

// ---- by counts: what each row asks of memory, traced on the CPU -----------------------------------------------------

struct Asked {
  simt::trace::Counts global, shared;  // of all launches
  std::int64_t divergent = 0;          // branches, by warps
};
Asked asked_by(const simt::trace::Report& report) {
  using namespace simt::trace;
  Asked asked;
  for (const Launch& launch : report.launches) {
    for (Kind kind : {Kind::load, Kind::store, Kind::atomic}) {
      asked.global += launch.total(Space::global, kind);
      asked.shared += launch.total(Space::shared, kind);
    }
    for (const Branch& branch : launch.branches) asked.divergent += branch.divergent;
  }
  return asked;
}

Result<int> show_counts(const Request& request) {
  if (!simt::trace::available()) {
    std::vector<std::string> arguments{"ladder", request.op};
    arguments.insert(arguments.end(), request.cases.begin(), request.cases.end());
    arguments.emplace_back("--counts");
    if (request.json) arguments.emplace_back("--json");
    return become_trace_program(arguments);
  }
  std::vector<std::string> texts = request.cases;
  if (texts.empty()) {
    RIDGE_CLI_TAKE(usual, usual_case(request, cpu()));
    texts.push_back(usual);
  }
  Json ladders = Json::array();
  bool failed = false;
  for (const std::string& text : texts) {
    RIDGE_CLI_TAKE(known, find_ladder_case(request, text));
    RIDGE_CLI_TAKE(all, trace_variants(known, variant_names(*known.op)));
    Table table({{"variant"},
                 {"requests", Align::right},
                 {"sectors", Align::right},
                 {"(least)", Align::right},
                 {"wavefronts", Align::right},
                 {"(least)", Align::right},
                 {"divergent", Align::right},
                 {"item"},
                 {"what it changes"}},
                "  ");
    Json rungs = Json::array();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Traced& t = all[i];
      const VariantInfo& row = known.op->variants[i];
      const std::string item = row.item.empty() ? "-" : std::string(row.item), why = t.refused + t.error;
      failed = failed || !t.error.empty();
      const Asked asked = asked_by(t.report);
      const auto number = [&](std::int64_t n) { return why.empty() ? fmt::format("{}", n) : "-"; };
      table.add({std::string(row.name), number(asked.global.requests + asked.shared.requests),
                 number(asked.global.sectors), number(asked.global.least_sectors), number(asked.shared.wavefronts),
                 number(asked.shared.least_wavefronts), number(asked.divergent), item,
                 why.empty() ? std::string(row.step) : "no: " + why});
      rungs.push_back({{"variant", std::string(row.name)},
                       {"reason", why},
                       {"requests", asked.global.requests + asked.shared.requests},
                       {"sectors", asked.global.sectors},
                       {"least_sectors", asked.global.least_sectors},
                       {"wavefronts", asked.shared.wavefronts},
                       {"least_wavefronts", asked.shared.least_wavefronts},
                       {"divergent_branches", asked.divergent}});
    }
    ladders.push_back({{"case", known.c.text()}, {"rungs", rungs}});
    if (request.json) continue;
    say("{}, traced\n", known.c.text());
    table.print();
  }
  if (request.json) std::fputs(dump({{"operator", request.op}, {"ladders", ladders}}).c_str(), stdout);
  return failed ? exit_check_failed : exit_done;
}

Result<int> show(Request request) {
  RIDGE_CLI_TAKE(named, find_ops(request.op));
  const OpInfo* op = named.front();  // of a family, its first
  request.op = op->name;
  if (request.counts) return show_counts(request);
  Results results;
  DeviceInfo device;
  if (!request.from.empty()) {
    RIDGE_CLI_TAKE(read, read_results(request.from));
    RIDGE_CLI_TAKE(model, model_of_results(read));
    results = read;
    device = model;
  } else {
    RIDGE_CLI_TAKE(here, choose_device(request.device));
    device = here;
  }
  std::vector<std::string> texts = request.cases;
  if (texts.empty() && !request.from.empty()) {  // every case of the operator in the file
    for (const ResultRow& row : results.rows)
      if (row.case_text.starts_with(request.op + ":") && std::ranges::find(texts, row.case_text) == texts.end())
        texts.push_back(row.case_text);
    if (texts.empty())
      return Status::invalid("ladder", "--from", request.from, "a file with cases of " + std::string(op->name));
  } else if (texts.empty()) {
    RIDGE_CLI_TAKE(usual, usual_case(request, device));
    texts.push_back(usual);
  }
  std::vector<Ladder> ladders;
  for (const std::string& text : texts) {
    RIDGE_CLI_TAKE(known, find_ladder_case(request, text));
    RIDGE_CLI_TAKE(case_device, device_of(known.c, device));
    if (request.from.empty()) {
      RIDGE_CLI_TAKE(rows, measure(known, case_device, request.repeats));
      results.rows = rows;
    }
    RIDGE_CLI_TAKE(ladder, climb(known, case_device, results.rows));
    ladders.push_back(std::move(ladder));
    if (!request.markdown && !request.json) print(ladders.back());
  }
  if (request.markdown) print_markdown(ladders);
  if (request.json) {
    Json list = Json::array();
    for (const Ladder& l : ladders) list.push_back(to_json(l));
    std::fputs(dump({{"operator", request.op}, {"ladders", list}}).c_str(), stdout);
  }
  return exit_done;
}

}  // namespace

void add_ladder(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("ladder", "Every row of an operator in order, and what each gains");
  command->add_option("OP", request->op, "The operator, or a family: its first operator")->required();
  command->add_option("CASE", request->cases,
                      "Cases of it (default: the first of its benchmarks; a small one on the CPU)");
  command->add_option("--device,--on", request->device, "cpu, cuda or cuda:N (default: a GPU if there is one)");
  command->add_option("--from", request->from,
                      "Take the times from a results file of ridge bench --all-variants --json");
  command->add_option("--repeats", request->repeats, "Runs whose median counts")->check(CLI::Range(1, 100000));
  command
      ->add_flag("--counts", request->counts,
                 "Trace on the CPU: sectors, bank conflicts and divergence instead of times")
      ->excludes("--from");
  auto* markdown = command->add_flag("--markdown", request->markdown, "Print the table of the operator's README");
  command->add_flag("--json", request->json, "Print JSON")->excludes(markdown);
  command->callback([request, &action] { action = [request] { return show(*request); }; });
}

}  // namespace ridge::cli
