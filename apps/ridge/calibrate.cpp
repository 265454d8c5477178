// ridge calibrate: the ceilings of the GPU at hand, measured and kept for every later plan.
#include "commands.hpp"
#include "json.hpp"
#include "progress.hpp"
#include "request.hpp"
#include "table.hpp"
#include "terminal.hpp"

#include <ridge/bench/ceilings.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace ridge::cli {
namespace {

struct Request {
  std::string device = "cuda";
  bool json = false;
};

Result<int> calibrate(const Request& request) {
  RIDGE_CLI_TAKE(device, find_device(request.device));
  Calibration measured;
  {
    Progress progress("measuring");
    RIDGE_CLI_TAKE(found, bench::measure_ceilings(device));
    measured = found;
  }
  RIDGE_CLI_TAKE(path, measured.write());
  DeviceInfo now = device;
  measured.apply(now);
  if (request.json) {
    std::fputs(dump({{"file", path.string()}, {"device", to_json(now)}}).c_str(), stdout);
    return exit_done;
  }
  say("{}: {}\n", now.id_text(), now.name);
  Table table({{""}, {"measured", Align::right}, {"before", Align::right}, {""}}, "  ");
  const auto line = [&](const char* what, double value, double before, const char* unit) {
    table.add({what, value > 0 ? fmt::format("{:.4g}", value) : "-", fmt::format("{:.4g}", before), unit});
  };
  line("copy", measured.memory_gbs, device.memory_gbs, "GB/s, read and written");
  line("read", measured.read_gbs, device.read_gbs > 0 ? device.read_gbs : device.memory_gbs, "GB/s");
  line("fp32", measured.fp32_tflops, device.fp32_tflops, "TFLOP/s");
  line("fp64", measured.fp64_tflops, device.fp64_tflops, "TFLOP/s");
  line("fp16", measured.fp16_tflops, device.fp16_tflops, "TFLOP/s, tensor cores");
  table.add({"kernel", fmt::format("{:.4g}", measured.shortest_kernel_us), "",
             "us, the shortest: one block, one trip to memory"});
  table.print();
  say("kept in {}\n", path.native());
  return exit_done;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  auto request = std::make_shared<Request>();
  CLI::App* command = app.add_subcommand("calibrate", "Measure the ceilings of the GPU at hand, for later plans");
  command->add_option("--device,--on", request->device, "cuda or cuda:N (default: cuda)");
  command->add_flag("--json", request->json, "Print JSON");
  command->callback([request, &action] { action = [request] { return calibrate(*request); }; });
}

}  // namespace ridge::cli
