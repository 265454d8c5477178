// ridge explain: the choice that a plan makes, and why, without running anything.
#include "commands.hpp"
#include "json.hpp"
#include "padding.hpp"
#include "plots.hpp"
#include "request.hpp"
#include "terminal.hpp"

#include <ridge/core/output_file.hpp>
#include <ridge/roofline/block_size.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace ridge::cli {
namespace {

struct Request {
  std::string case_text, on, plot;
  bool all = false, json = false;
};

bool is_of_this_machine(const std::string& text) { return text.empty() || text == "cpu" || text.starts_with("cuda"); }

// A model by name, or a device of this machine.
Result<DeviceInfo> model_or_device(const std::string& text) {
  if (is_of_this_machine(text)) return choose_device(text);
  auto model = device_model(text);
  if (model) return model;
  return Status::error(Code::invalid_argument, std::string(model.error().message()) + ", or cpu, cuda, cuda:N");
}

// The rows of the table below the roofs of the unit that the operator keeps busiest: the chosen one filled.
Status draw(const Explanation& e, const DeviceInfo& device, const std::string& case_text, const std::string& path) {
  if (e.analysis.unit.empty())
    return Status::invalid(e.op, "--plot", "given",
                           "left out, for the operator computes nothing and has no place below the roofs");
  std::vector<Unit> units;
  double operations = 0;
  for (int u = 0; u < unit_count; ++u) {
    if (e.cost.operations[u] > 0) units.push_back(static_cast<Unit>(u));
    if (name(static_cast<Unit>(u)) == e.analysis.unit) operations = e.cost.operations[u];
  }
  std::vector<RoofPoint> points;
  int shape = 0;
  for (const Candidate& c : e.candidates)
    if (c.fits() && c.predicted_us > 0)
      points.push_back({c.variant + (c.variant == e.variant ? " (chosen)" : ""), e.analysis.intensity,
                        operations / c.predicted_us * 1e-6, static_cast<Marker>(shape++ % marker_count),
                        c.variant == e.variant});
  RIDGE_CLI_TAKE(file, OutputFile::create(path));
  RIDGE_TRY(file.write(roofline_svg(device, units, points, case_text + " on " + device.name + ", predicted")));
  return file.commit();
}

// What a kernel's occupancy says about its block size; nothing where its registers are not known, or the grid is what
// leaves places empty.
std::optional<roofline::BlockSize> block_size_for(const Analysis& a, const DeviceInfo& device) {
  if (device.is_cpu() || a.blocks <= 0 || a.threads <= 0 || a.registers <= 0 || a.limiter == "the grid")
    return std::nullopt;
  return roofline::block_size_by_occupancy(device, {a.threads, a.registers, a.smem_bytes});
}

// Whether more threads would hide anything: latency is most of what the kernel waits for.
bool waits_for_latency(const Analysis& a) {
  const auto us_of = [&](std::string_view name) {
    const auto term = std::ranges::find(a.terms, name, &Analysis::Term::name);
    return term == a.terms.end() ? 0 : term->us;
  };
  return us_of("latency") > std::max(us_of("memory"), us_of("arithmetic"));
}

// What a change of the block or of the case would gain, beside what the plan says of its own kernel.
struct Gains {
  std::optional<roofline::BlockSize> block;
  std::optional<Padding> padding;
};

Gains gains_of(const KnownCase& known, const DeviceInfo& device, const Explanation& e) {
  Gains gains{block_size_for(e.analysis, device), std::nullopt};
  if (!device.is_cpu()) gains.padding = best_padding(known, device, e);
  return gains;
}

// As lines of `to gain`.
void advise(Analysis& a, const Gains& gains) {
  constexpr double worth_saying = 0.05;  // of a multiprocessor's threads
  if (gains.block && gains.block->share > a.occupancy + worth_saying && waits_for_latency(a))
    a.advice.push_back(
        fmt::format("occupancy would pick blocks of {} threads: {:.0f} % instead of {:.0f} %, with as "
                    "much of registers and shared memory for a thread",
                    gains.block->threads, 100 * gains.block->share, 100 * a.occupancy));
  if (gains.padding) a.advice.push_back(gains.padding->text());
}

Json to_json(const Explanation& e, const Gains& gains) {
  Json json = cli::to_json(e);
  json["block_size"] = Json(nullptr);
  if (gains.block) json["block_size"] = {{"threads", gains.block->threads}, {"occupancy", gains.block->share}};
  json["padding"] = gains.padding ? cli::to_json(*gains.padding) : Json(nullptr);
  return json;
}

Result<int> explain(const Request& request) {
  RIDGE_CLI_TAKE(known, find_case(request.case_text));
  RIDGE_CLI_TAKE(chosen, model_or_device(request.on));
  RIDGE_CLI_TAKE(device, device_of(known.c, chosen));
  RIDGE_CLI_TAKE(explanation, explain_case(known, device, is_of_this_machine(request.on)));
  const Gains gains = gains_of(known, device, explanation);
  advise(explanation.analysis, gains);
  std::FILE* to = stdout;
  if (!request.plot.empty()) {
    RIDGE_CLI_TAKE(place, OutputFile::check(request.plot));
    if (place.standard_output) to = stderr;
    RIDGE_TRY(draw(explanation, device, known.c.text(), request.plot));
  }
  if (request.json) std::fputs(dump(to_json(explanation, gains)).c_str(), to);
  else say_lines(explanation.text(request.all), to, "<- chosen");
  return exit_done;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand(
      "explain", "The plan's choice: bound, least time, each term of the predicted time, candidates");
  command->add_option("CASE", request->case_text, "OP:DTYPE:k=v,k=v[:option[=value]]...")->required();
  command->add_option("--device,--on", request->on, "A device model (ridge devices), or cpu, cuda, cuda:N");
  command->add_option("--plot", request->plot, "Draw the roofline and the candidates into an SVG file");
  command->add_flag("--all", request->all, "Every variant that does not fit, each with its reason");
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([request, &action] { action = [request] { return explain(*request); }; });
}

}  // namespace ridge::cli
