// ridge ladder: every row of an operator's table in order, what each changes and what that gains.
#include "ladder.hpp"

#include "commands.hpp"
#include "json.hpp"
#include "measurements.hpp"
#include "progress.hpp"
#include "results.hpp"
#include "table.hpp"
#include "terminal.hpp"

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

// A row of the table on one case.
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

// What the published table is about; on the CPU runtime a case of the tests, which takes milliseconds.
Result<std::string> usual_case(const LadderRequest& request, const DeviceInfo& device) {
  RIDGE_CLI_TAKE(book, check::find_case_book(request.op));
  if (!device.is_cpu() && !book->benches.empty()) return book->benches.front();
  RIDGE_CLI_TAKE(fullest, fullest_case(book->tests, device));
  if (!fullest.empty()) return fullest;
  return Status::error(Code::invalid_argument,
                       fmt::format("ladder: {} has no usual case; one must be named, as OP:DTYPE:k=v", request.op));
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
  const bench::Settings settings{
      .peers = false, .all_variants = true, .repeats = repeats, .on_turn = shown_by(progress)};
  for (const bench::Measurement& m : bench::measure(known.c, device, settings)) {
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

// ---- the command ----------------------------------------------------------------------------------------------------

Result<int> show_times(const LadderRequest& request, const DeviceInfo& device, Results results) {
  std::vector<std::string> texts = request.cases;
  if (texts.empty() && !request.from.empty()) {  // every case of the operator in the file
    for (const ResultRow& row : results.rows)
      if (row.case_text.starts_with(request.op + ":") && std::ranges::find(texts, row.case_text) == texts.end())
        texts.push_back(row.case_text);
    if (texts.empty()) return Status::invalid("ladder", "--from", request.from, "a file with cases of " + request.op);
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

Result<int> show(LadderRequest request, bool asks_for_repeats) {
  RIDGE_CLI_TAKE(named, find_ops(request.op));
  request.op = named.front()->name;  // of a family, its first
  if (request.counts) return show_ladder_by_counts(request);
  if (!request.from.empty()) {
    RIDGE_CLI_TAKE(results, read_results(request.from));
    RIDGE_CLI_TAKE(model, model_of_results(results));
    return show_times(request, model, results);
  }
  RIDGE_CLI_TAKE(device, choose_device(request.device));
  if (!device.is_cpu() || request.times) return show_times(request, device, {});
  // A CPU's times teach the wrong thing: what a GPU would wait for costs the CPU runtime nothing.
  for (const auto& [given, option] :
       {std::pair(asks_for_repeats, "--repeats"), std::pair(request.markdown, "--markdown")})
    if (given)
      return Status::error(
          Code::invalid_argument,
          fmt::format("ladder: {} is of times, and on the CPU the ladder shows counts; --times must be "
                      "given as well",
                      option));
  return show_ladder_by_counts(request);
}

}  // namespace

Result<KnownCase> find_ladder_case(const LadderRequest& request, const std::string& text) {
  RIDGE_CLI_TAKE(known, find_case(text));
  if (known.c.op != request.op) return Status::invalid("ladder", "case", text, "a case of operator " + request.op);
  if (known.c.options.has("variant"))
    return Status::invalid("ladder", "case", text, "without variant=, for a ladder runs every row");
  return known;
}

Result<std::string> fullest_case(const std::vector<std::string>& texts, const DeviceInfo& device) {
  std::string best;
  std::tuple<std::ptrdiff_t, bool, std::size_t> most{};
  for (const std::string& text : texts) {
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
  return best;
}

void add_ladder(CLI::App& app, Action& action) {
  auto request = std::make_shared<LadderRequest>();
  CLI::App* command = app.add_subcommand("ladder", "Every row of an operator in order, and what each gains");
  command->footer(
      "On a GPU it shows times. On the CPU it shows what each row asks of memory, for times of the CPU runtime say "
      "nothing of a GPU's: traced where ridge-trace is built, else as far as the operators' folders hold counts.\n\n" +
      app.get_footer());
  command->add_option("OP", request->op, "The operator, or a family: its first operator")->required();
  command->add_option("CASE", request->cases,
                      "Cases of it (default: the first of its benchmarks; a small one on the CPU)");
  command->add_option("--device,--on", request->device, "cpu, cuda or cuda:N (default: a GPU if there is one)");
  CLI::Option* from = command->add_option("--from", request->from,
                                          "Take the times from a results file of ridge bench --all-variants --json");
  CLI::Option* repeats =
      command->add_option("--repeats", request->repeats, "Runs whose median counts")->check(CLI::Range(1, 100000));
  CLI::Option* counts =
      command->add_flag("--counts", request->counts,
                        "Trace every row on the CPU, by ridge-trace, which is built first where it is missing");
  command->add_flag("--times", request->times, "Times on the CPU too")->excludes(counts);
  counts->excludes(from)->excludes(repeats);
  auto* markdown = command->add_flag("--markdown", request->markdown, "Print the table of the operator's README");
  counts->excludes(markdown);
  command->add_flag("--json", request->json, "Print JSON")->excludes(markdown);
  command->callback(
      [=, &action] { action = [request, asked = repeats->count() > 0] { return show(*request, asked); }; });
}

}  // namespace ridge::cli
