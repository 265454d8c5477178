#include "commands.hpp"
#include "held_counts.hpp"
#include "json.hpp"
#include "ladder.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "trace_program.hpp"
#include "traced.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace ridge::cli {
namespace {

// A row of the table on one case.
struct Rung {
  VariantInfo row;
  std::string reason;                               // why it does not take the case
  std::optional<MemoryCounts> counts;               // none: it does not, or nobody has counted
  std::optional<std::int64_t> requests, divergent;  // of a trace alone: requests for memory; branches, by warps
  bool failed = false;                              // under the trace
};

struct Ladder {
  KnownCase known;
  std::vector<Rung> rungs;
};

// ---- counted now ----------------------------------------------------------------------------------------------------

Result<std::vector<Rung>> traced_rungs(const KnownCase& known) {
  RIDGE_CLI_TAKE(all, trace_variants(known, variant_names(*known.op)));
  std::vector<Rung> rungs;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Traced& t = all[i];
    Rung rung{.row = known.op->variants[i],
              .reason = t.refused + t.error,
              .counts = {},
              .requests = {},
              .divergent = {},
              .failed = !t.error.empty()};
    if (rung.reason.empty()) {
      rung.counts = counts_of(t.report);
      rung.requests = rung.divergent = 0;
      for (const simt::trace::Launch& launch : t.report.launches) {
        for (const simt::trace::Access& access : launch.accesses) *rung.requests += access.requests;
        for (const simt::trace::Branch& branch : launch.branches) *rung.divergent += branch.divergent;
      }
    }
    rungs.push_back(std::move(rung));
  }
  return rungs;
}

// ---- held -----------------------------------------------------------------------------------------------------------

// The case as a line of counts has it: of a row.
std::string with_variant(const KnownCase& known, std::string_view variant) {
  check::Case c = known.c;
  c.options.set("variant", std::string(variant));
  return c.text();
}

Result<std::vector<Rung>> held_rungs(const KnownCase& known) {
  RIDGE_CLI_TAKE(device, device_of(known.c, cpu()));
  RIDGE_CLI_TAKE(explanation, explain_case(known, device));
  const auto held = held_counts();
  std::vector<Rung> rungs;
  for (const VariantInfo& row : known.op->variants) {
    Rung rung{.row = row, .reason = {}, .counts = {}, .requests = {}, .divergent = {}};
    const auto candidate = std::ranges::find(explanation.candidates, row.name, &Candidate::variant);
    if (candidate != explanation.candidates.end()) rung.reason = candidate->refusal;
    const std::string text = with_variant(known, row.name);
    for (const auto& [case_text, counts] : held)
      if (case_text == text) rung.counts = counts, rung.reason.clear();
    rungs.push_back(std::move(rung));
  }
  return rungs;
}

// The operator's cases that counts are held of.
std::vector<std::string> held_cases(const std::string& op) {
  std::vector<std::string> texts;
  for (const auto& [case_text, counts] : held_counts()) {
    auto c = check::Case::parse(case_text);
    if (!c || c->op != op) continue;
    c->options.erase("variant");
    if (std::string text = c->text(); std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
  }
  return texts;
}

// One of those, for then there is something to see without a trace as well.
Result<std::string> usual_case(const LadderRequest& request) {
  RIDGE_CLI_TAKE(book, check::find_case_book(request.op));
  RIDGE_CLI_TAKE(held, fullest_case(held_cases(request.op), cpu()));
  if (!held.empty()) return held;
  return fullest_case(book->tests, cpu());
}

// ---- output ---------------------------------------------------------------------------------------------------------

bool is_counted(const Rung& rung) { return rung.counts.has_value(); }

std::string number(const std::optional<std::int64_t>& n) { return n ? fmt::format("{}", *n) : "-"; }

void print(const Ladder& ladder, bool traced) {
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
  for (const Rung& rung : ladder.rungs) {
    const auto count = [&](std::int64_t MemoryCounts::*which) {
      return number(rung.counts ? std::optional((*rung.counts).*which) : std::nullopt);
    };
    table.add({std::string(rung.row.name), number(rung.requests), count(&MemoryCounts::sectors),
               count(&MemoryCounts::least_sectors), count(&MemoryCounts::wavefronts),
               count(&MemoryCounts::least_wavefronts), number(rung.divergent),
               rung.row.item.empty() ? "-" : std::string(rung.row.item),
               rung.reason.empty() ? std::string(rung.row.step) : "no: " + rung.reason});
  }
  say("{}, {}\n", ladder.known.c.text(), traced ? "traced" : "counts that are held");
  table.print();
}

// What the table does not say, and how to see it.
void print_rest(const std::vector<Ladder>& ladders, const LadderRequest& request, bool traced) {
  say("  sectors of global memory, 32 bytes each; wavefronts of shared memory\n");
  const bool all = std::ranges::all_of(ladders, [](const Ladder& ladder) {
    return std::ranges::all_of(ladder.rungs, [](const Rung& r) { return is_counted(r) || !r.reason.empty(); });
  });
  if (!traced && !all) {
    std::string command = "ridge ladder " + request.op;
    for (const Ladder& ladder : ladders) command += " " + ladder.known.c.text();
    say("  {} --counts counts the other rows, and {}\n", command, trace_program_needs());
  }
  say("  --times shows times: of the CPU runtime, which say nothing of a GPU's\n");
}

Json to_json(const Ladder& ladder) {
  const auto or_null = [](const std::optional<std::int64_t>& n) { return n ? Json(*n) : Json(nullptr); };
  Json rungs = Json::array();
  for (const Rung& rung : ladder.rungs) {
    const auto count = [&](std::int64_t MemoryCounts::*which) {
      return rung.counts ? Json((*rung.counts).*which) : Json(nullptr);
    };
    rungs.push_back({{"variant", std::string(rung.row.name)},
                     {"step", std::string(rung.row.step)},
                     {"item", rung.row.item.empty() ? Json(nullptr) : Json(std::string(rung.row.item))},
                     {"reason", rung.reason},
                     {"requests", or_null(rung.requests)},
                     {"sectors", count(&MemoryCounts::sectors)},
                     {"least_sectors", count(&MemoryCounts::least_sectors)},
                     {"wavefronts", count(&MemoryCounts::wavefronts)},
                     {"least_wavefronts", count(&MemoryCounts::least_wavefronts)},
                     {"divergent_branches", or_null(rung.divergent)}});
  }
  return {{"case", ladder.known.c.text()}, {"rungs", rungs}};
}

// ---- ridge-trace ----------------------------------------------------------------------------------------------------

Status trace_ladder(const LadderRequest& request) {
  std::vector<std::string> arguments{"ladder", request.op};
  arguments.insert(arguments.end(), request.cases.begin(), request.cases.end());
  arguments.emplace_back("--counts");
  if (request.json) arguments.emplace_back("--json");
  return become_trace_program(arguments);
}

}  // namespace

Result<int> show_ladder_by_counts(const LadderRequest& request) {
  std::vector<std::string> texts = request.cases;
  if (texts.empty()) {
    RIDGE_CLI_TAKE(usual, usual_case(request));
    if (usual.empty())
      return Status::error(Code::invalid_argument,
                           fmt::format("ladder: {} has no usual case; one must be named, as OP:DTYPE:k=v", request.op));
    texts.push_back(usual);
  }
  std::vector<Ladder> ladders;
  for (const std::string& text : texts) {
    RIDGE_CLI_TAKE(known, find_ladder_case(request, text));
    ladders.push_back({known, {}});
  }
  const bool traced = simt::trace::available();
  if (!traced && (request.counts || trace_program_is_ready())) return trace_ladder(request);
  bool failed = false;
  Json list = Json::array();
  for (Ladder& ladder : ladders) {
    RIDGE_CLI_TAKE(rungs, traced ? traced_rungs(ladder.known) : held_rungs(ladder.known));
    ladder.rungs = std::move(rungs);
    failed = failed || std::ranges::any_of(ladder.rungs, &Rung::failed);
    if (request.json) list.push_back(to_json(ladder));
    else print(ladder, traced);
  }
  if (request.json) std::fputs(dump({{"operator", request.op}, {"ladders", list}}).c_str(), stdout);
  else print_rest(ladders, request, traced);
  return failed ? exit_check_failed : exit_done;
}

}  // namespace ridge::cli
