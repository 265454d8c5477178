// ridge lab: a user's own CUDA file, unmodified, on a machine without a GPU: what is wrong with it, what its kernels
// do to memory line by line, and how long they would take on a device.
#include "commands.hpp"
#include "json.hpp"
#include "lab/page.hpp"
#include "lab/report.hpp"
#include "lab/study.hpp"
#include "request.hpp"

#include <ridge/core/file.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace ridge::cli {
namespace {

using lab::Mode;

struct Request {
  std::string file, device = "h100", keep, html;
  std::vector<std::string> includes, defines, arguments;
  bool run = false, trace = false, bounds = false, race = false, json = false;
  double seconds = 120;

  // All checks, unless some are named.
  std::vector<Mode> modes() const {
    std::vector<Mode> chosen;
    if (run) chosen.push_back(Mode::run);
    if (trace) chosen.push_back(Mode::trace);
    if (bounds) chosen.push_back(Mode::bounds);
    if (race) chosen.push_back(Mode::race);
    return chosen.empty() ? std::vector{Mode::trace, Mode::bounds, Mode::race} : chosen;
  }
};

Result<int> study(const Request& request) {
  RIDGE_CLI_TAKE(work, lab::Study::begin({.file = request.file,
                                          .device = request.device,
                                          .keep = request.keep,
                                          .includes = request.includes,
                                          .defines = request.defines,
                                          .arguments = request.arguments,
                                          .seconds = request.seconds,
                                          .keeps_output = request.json,
                                          .is_quiet = false}));
  RIDGE_TRY(work.run(request.modes()));
  if (!request.html.empty() && !replace_file(request.html, page_of(work.report())))
    return Status::error(Code::io, fmt::format("lab: {} cannot be written", request.html));
  if (request.json) std::fputs(dump(to_json(work.report())).c_str(), stdout);
  else print(work.report());
  return all_findings(work.report()).empty() && !work.failed() ? exit_done : exit_check_failed;
}

}  // namespace

void add_lab(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("lab", "Your own CUDA file without a GPU: faults, memory by line, predicted time");
  command->footer(
      "The file is compiled by g++ as it is, kernels and host code, and run on the CPU runtime: watched line by line "
      "(--trace), with bounds checked (--bounds), with races detected (--race). Without an option: all three. What "
      "follows "
      "-- are the program's own arguments.\n\n" +
      app.get_footer());
  command->add_option("FILE", request->file, "A CUDA C++ file with a main()")->required();
  command->add_option("ARGUMENT", request->arguments, "The program's own arguments, after --");
  command->add_flag("--run", request->run, "Run it only, as fast as the CPU can");
  command->add_flag("--trace", request->trace, "Sectors, bank conflicts, divergence by line, and predicted times");
  command->add_flag("--bounds", request->bounds, "Accesses out of bounds and undefined behaviour");
  command->add_flag("--race", request->race, "Missing barriers");
  command->add_option("--on", request->device,
                      "The device to predict for (default: h100; ridge devices lists the models)");
  command->add_option("-I", request->includes, "A folder with headers")->allow_extra_args(false);
  command->add_option("-D", request->defines, "A macro: NAME or NAME=VALUE")->allow_extra_args(false);
  command->add_option("--seconds", request->seconds, "A run that takes longer is ended (default: 120)");
  command->add_option("--keep", request->keep, "Keep what is compiled in this folder");
  command->add_option("--html", request->html, "Write the report as a page to this file, too");
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([=, &action] { action = [request] { return study(*request); }; });
}

}  // namespace ridge::cli
