// ridge lab: a user's own CUDA file, unmodified, on a machine without a GPU: what is wrong with it, what its kernels
// do to memory line by line, and how long they would take on a device.
#include "commands.hpp"
#include "json.hpp"
#include "lab/page.hpp"
#include "lab/report.hpp"
#include "lab/study.hpp"
#include "lab/times.hpp"
#include "lab/timing.hpp"
#include "request.hpp"
#include "terminal.hpp"

#include <ridge/core/device.hpp>
#include <ridge/core/file.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ridge::cli {
namespace {

using lab::Mode;

struct Request {
  std::string file, device, keep, html;  // device: empty where the user names none
  std::vector<std::string> includes, defines, arguments;
  bool run = false, trace = false, bounds = false, race = false, time = false, json = false;
  double seconds = 120;

  // All checks, unless some are named. What is measured is put beside what the trace predicts.
  std::vector<Mode> modes() const {
    std::vector<Mode> chosen;
    if (run) chosen.push_back(Mode::run);
    if (trace || time) chosen.push_back(Mode::trace);
    if (bounds) chosen.push_back(Mode::bounds);
    if (race) chosen.push_back(Mode::race);
    return chosen.empty() ? std::vector{Mode::trace, Mode::bounds, Mode::race} : chosen;
  }
};

lab::StudyOptions options_of(const Request& request) {
  return {.file = request.file,
          .device = request.device.empty() ? "h100" : request.device,
          .keep = request.keep,
          .includes = request.includes,
          .defines = request.defines,
          .arguments = request.arguments,
          .seconds = request.seconds,
          .keeps_output = request.json,
          .is_quiet = false};
}

struct Measured {
  lab::Gpu gpu;
  lab::Timing timing;
  std::string model;  // to predict for: the GPU's own, unless the user names one
};

Result<Measured> measure(const Request& request) {
  RIDGE_CLI_TAKE(gpu, lab::find_gpu());
  RIDGE_CLI_TAKE(nvcc, lab::find_nvcc());
  const auto model = request.device.empty() ? lab::model_of(gpu) : std::optional(request.device);
  if (!model)
    return Status::error(Code::unsupported,
                         fmt::format("lab: there is no model of {} with {} multiprocessors to predict for; --on names "
                                     "another (ridge devices lists them)",
                                     gpu.name, gpu.sms));
  if (const Result<DeviceInfo> known = device_model(*model); !known) return known.error();
  RIDGE_CLI_TAKE(timing, lab::time_on(gpu, nvcc, options_of(request)));
  if (!timing.run.messages.empty()) say_lines(timing.run.messages, stderr);
  return Measured{gpu, std::move(timing), *model};
}

void show(const Request& request, const lab::Report& report) {
  if (request.json) {
    std::fputs(dump(to_json(report)).c_str(), stdout);
    return;
  }
  if (!request.time || request.trace) print_launches(report);
  if (request.time) print_times(report);
  print_findings(report);
}

Result<int> study(const Request& request) {
  lab::StudyOptions options = options_of(request);
  std::optional<Measured> measured;
  if (request.time) {
    RIDGE_CLI_TAKE(done, measure(request));
    measured = std::move(done);
    options.device = measured->model;
    options.keeps_output = options.is_quiet = true;  // the program has spoken on the GPU
  }
  RIDGE_CLI_TAKE(work, lab::Study::begin(options));
  RIDGE_TRY(work.run(request.modes()));
  lab::Report report = work.report();
  if (measured) add_times(report, measured->gpu, measured->timing);
  if (!request.html.empty() && !replace_file(request.html, page_of(report)))
    return Status::error(Code::io, fmt::format("lab: {} cannot be written", request.html));
  show(request, report);
  const bool failed = work.failed() || (measured && measured->timing.failed());
  return all_findings(report).empty() && !failed ? exit_done : exit_check_failed;
}

}  // namespace

void add_lab(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command =
      app.add_subcommand("lab", "Your own CUDA file without a GPU: faults, memory by line, predicted time");
  command->footer(
      "The file is compiled by g++ as it is, kernels and host code, and run on the CPU runtime: watched line by line "
      "(--trace), with bounds checked (--bounds), with races detected (--race). Without an option: all three. Where "
      "nvcc and an NVIDIA GPU are, --time puts what each launch takes there beside its prediction. What follows -- are "
      "the program's own arguments.\n\n" +
      app.get_footer());
  command->add_option("FILE", request->file, "A CUDA C++ file with a main()")->required();
  command->add_option("ARGUMENT", request->arguments, "The program's own arguments, after --");
  command->add_flag("--run", request->run, "Run it only, as fast as the CPU can");
  command->add_flag("--trace", request->trace, "Sectors, bank conflicts, divergence by line, and predicted times");
  command->add_flag("--bounds", request->bounds, "Accesses out of bounds and undefined behaviour");
  command->add_flag("--race", request->race, "Missing barriers");
  command->add_flag("--time", request->time, "Time each launch on the GPU of this machine, beside the prediction");
  command->add_option("--on", request->device,
                      "The device to predict for (default: h100, with --time the one that is here; ridge devices lists "
                      "the models)");
  command->add_option("-I", request->includes, "A folder with headers")->allow_extra_args(false);
  command->add_option("-D", request->defines, "A macro: NAME or NAME=VALUE")->allow_extra_args(false);
  command->add_option("--seconds", request->seconds, "A run that takes longer is ended (default: 120)");
  command->add_option("--keep", request->keep, "Keep what is compiled in this folder");
  command->add_option("--html", request->html, "Write the report as a page to this file, too");
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([=, &action] { action = [request] { return study(*request); }; });
}

}  // namespace ridge::cli
