// ridge trace: what an operator's kernels do to memory, per source line, without a GPU.
#include "commands.hpp"
#include "held_counts.hpp"
#include "json.hpp"
#include "terminal.hpp"
#include "trace_page.hpp"
#include "trace_program.hpp"
#include "traced.hpp"

#include <ridge/core/output_file.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ridge::cli {
namespace {

namespace trace = simt::trace;

struct Request {
  std::string case_text, variant, html, device = "h100";
  std::vector<std::string> held;  // files
  bool update = false, json = false;
};

// ---- output ------------------------------------------------------------------------------------------------------

Json to_json(const trace::Line& line) { return {{"file", line.file}, {"line", line.number}, {"source", line.text}}; }
Json to_json(trace::Dim d) { return {d.x, d.y, d.z}; }

Json to_json(const trace::Launch& launch) {
  static constexpr const char* kinds[] = {"load", "store", "atomic"};
  Json accesses = Json::array(), branches = Json::array(), races = Json::array();
  for (const trace::Access& a : launch.accesses) {
    const bool global = a.space == trace::Space::global;
    Json json = to_json(a.at);
    json.update({{"space", global ? "global" : "shared"},
                 {"kind", kinds[static_cast<int>(a.kind)]},
                 {"bytes_per_lane", a.bytes},
                 {"requests", a.requests},
                 {"lanes", a.lanes}});
    if (global) json.update({{"sectors", a.sectors}, {"least_sectors", a.least_sectors}});
    else
      json.update({{"wavefronts", a.wavefronts},
                   {"least_wavefronts", a.least_wavefronts},
                   {"requests_if_widened", a.widened_requests},
                   {"wavefronts_if_widened", a.widened_wavefronts},
                   {"unset_reads", a.unset}});
    json["note"] = a.note(launch.warp);
    accesses.push_back(std::move(json));
  }
  for (const trace::Branch& b : launch.branches) {
    Json json = to_json(b.at);
    json.update({{"executed", b.executed}, {"divergent", b.divergent}});
    branches.push_back(std::move(json));
  }
  for (const trace::Race& r : launch.races)
    races.push_back({{"at", to_json(r.at)}, {"against", to_json(r.against)}, {"accesses", r.accesses}});
  return {{"kernel", launch.kernel},
          {"grid", to_json(launch.grid)},
          {"block", to_json(launch.block)},
          {"dynamic_shared_bytes", launch.smem},
          {"warp", launch.warp},
          {"accesses", accesses},
          {"divergent_branches", branches},
          {"races_between_blocks", races}};
}

Json to_json(const Traced& traced) {
  Json launches = Json::array();
  for (const trace::Launch& launch : traced.report.launches) launches.push_back(to_json(launch));
  const auto text_or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  return {{"case", traced.case_text},
          {"step", traced.step},
          {"refused", text_or_null(traced.refused)},
          {"error", text_or_null(traced.error)},
          {"launches", launches}};
}

void print(const Traced& traced) {
  say("{}: {}\n", traced.case_text, traced.step);
  if (!traced.refused.empty()) say("refused: {}\n", traced.refused);
  else if (!traced.error.empty()) say_lines("FAILED: " + traced.error + "\n");
  else say_lines(traced.report.text());
}

// ---- the page ----------------------------------------------------------------------------------------------------

// What the plan of a variant says on a model: on none that has other warps than those that were traced.
TracedOnModel on_model(Traced traced, const KnownCase& known, const DeviceInfo& model, int warp) {
  TracedOnModel with{.traced = std::move(traced), .planned = {}, .not_planned = {}};
  if (model.warp != warp) {
    with.not_planned = fmt::format("its warps have {} lanes, and those of the trace {}", model.warp, warp);
    return with;
  }
  KnownCase there = known;
  there.c.options.erase("warp");
  there.c.options.set("variant", with.traced.variant);
  auto explained = explain_case(there, model);
  if (explained) with.planned = std::move(*explained);
  else with.not_planned = explained.error().message();
  return with;
}

// What would end in no page is refused before anything is traced.
Status check_page(const Request& request) {
  if (const auto model = device_model(request.device); !model) return model.error();
  const auto place = OutputFile::check(request.html);
  return place ? Status() : place.error();
}

Status write_page(const Request& request, const KnownCase& known, const std::vector<Traced>& all) {
  RIDGE_CLI_TAKE(model, device_model(request.device));
  RIDGE_CLI_TAKE(traced_on, device_of(known.c, cpu()));
  std::vector<TracedOnModel> variants;
  for (const Traced& traced : all) variants.push_back(on_model(traced, known, model, traced_on.warp));
  RIDGE_CLI_TAKE(file, OutputFile::create(request.html));
  RIDGE_TRY(file.write(trace_page(known.c.text(), variants, model)));
  return file.commit();
}

// ---- the command -------------------------------------------------------------------------------------------------

Result<int> trace_here(const Request& request, const KnownCase& known) {
  std::vector<std::string> variants = variant_names(*known.op);
  if (request.variant != "all")
    variants = {request.variant.empty() ? std::string(known.c.options.text("variant")) : request.variant};
  RIDGE_CLI_TAKE(all, trace_variants(known, variants));
  // A variant that the user named and that does not fit is a wrong request; one of all is a line.
  if (request.variant != "all" && !all[0].refused.empty()) return Status::error(Code::unsupported, all[0].refused);
  if (!request.html.empty()) RIDGE_TRY(write_page(request, known, all));
  bool failed = false;
  Json traces = Json::array();
  for (const Traced& traced : all) {
    failed = failed || !traced.error.empty();
    if (request.json) {
      traces.push_back(to_json(traced));
    } else {
      if (&traced != &all.front()) std::puts("");
      print(traced);
    }
  }
  if (request.json) std::fputs(dump({{"device", cpu().id_text()}, {"traces", traces}}).c_str(), stdout);
  return failed ? exit_check_failed : exit_done;
}

Result<int> trace_held(const Request& request) {
  if (trace::available()) return hold_counts(request.held, request.update);
  std::vector<std::string> arguments{"trace", "--hold"};
  arguments.insert(arguments.end(), request.held.begin(), request.held.end());
  if (request.update) arguments.emplace_back("--update");
  return become_trace_program(arguments);
}

Result<int> trace_case(const Request& request) {
  if (!request.held.empty()) return trace_held(request);
  RIDGE_CLI_TAKE(known, find_case(request.case_text));
  if (!request.variant.empty() && request.variant != "all") RIDGE_TRY(check_variant(*known.op, request.variant));
  if (!request.variant.empty() && known.c.options.has("variant"))
    return Status::error(
        Code::invalid_argument,
        known.c.op + ": the variant is given twice, in the case and by --variant; it must be given once");
  if (!request.html.empty()) RIDGE_TRY(check_page(request));
  if (trace::available()) return trace_here(request, known);

  std::vector<std::string> arguments{"trace", request.case_text};
  if (!request.variant.empty()) arguments.insert(arguments.end(), {"--variant", request.variant});
  if (request.json) arguments.emplace_back("--json");
  if (!request.html.empty()) arguments.insert(arguments.end(), {"--html", request.html, "--on", request.device});
  return become_trace_program(arguments);
}

}  // namespace

void add_trace(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("trace", "Sectors, bank conflicts, divergence and races, per source line");
  command->footer(
      "Needs no GPU. Kernels are traced by a program of its own, ridge-trace, which is built when it is first asked "
      "for: in minutes, as it says before it begins. Nothing else that was built changes.\n\n" +
      app.get_footer());
  auto* text = command->add_option("CASE", request->case_text, "OP:DTYPE:k=v,k=v[:option[=value]]...");
  command->add_option("--variant", request->variant, "all, or one by name (default: the one that the plan chooses)");
  auto* html = command->add_option("--html", request->html,
                                   "Write a page to this file, too: roofline, launches, and the source with a gutter");
  command
      ->add_option("--on", request->device,
                   "With --html: the device of the roofs (default: h100; ridge devices lists the models)")
      ->needs(html);
  command->add_flag("--json", request->json, "Print JSON");
  auto* held = command->add_option("--hold", request->held, "Files of counts that are to be what they say");
  command->add_flag("--update", request->update, "With --hold: write what is counted now")->needs(held);
  held->excludes(text)->excludes(html);
  command->callback([=, &action] {
    if (!*text && !*held) throw CLI::RequiredError("CASE");
    action = [request] { return trace_case(*request); };
  });
}

}  // namespace ridge::cli
