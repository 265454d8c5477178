// ridge calibrate: the ceilings of the GPU at hand, measured and kept for every later plan; and its latencies, shown
// beside what plans take them for.
#include "commands.hpp"
#include "json.hpp"
#include "progress.hpp"
#include "request.hpp"
#include "table.hpp"
#include "terminal.hpp"

#include <ridge/bench/ceilings.hpp>
#include <ridge/bench/latencies.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace ridge::cli {
namespace {

struct Request {
  std::string device = "cuda";
  bool json = false;
};

struct LevelLatency {
  const char* level;
  const char* where;
  bench::Latency measured;
  double model_ns;  // 0: the model has no such figure
};

std::vector<LevelLatency> by_level(const bench::Latencies& l, const DeviceInfo& device) {
  return {{"global", "memory, past the L2 cache", l.global, device.memory_latency_us * 1e3},
          {"L2", "the L2 cache", l.l2, 0},
          {"L1", "the L1 cache", l.l1, 0},
          {"shared", "shared memory", l.shared, 0}};
}

Json to_json(const std::vector<LevelLatency>& latencies) {
  Json json = Json::object();
  for (const LevelLatency& l : latencies)
    json[l.level] = {{"cycles", l.measured.cycles},
                     {"ns", l.measured.ns},
                     {"model_ns", l.model_ns > 0 ? Json(l.model_ns) : Json(nullptr)}};
  return json;
}

void print(const std::vector<LevelLatency>& latencies) {
  Table table({{"latency"}, {"cycles", Align::right}, {"ns", Align::right}, {"model's ns", Align::right}, {""}}, "  ");
  for (const LevelLatency& l : latencies)
    table.add({l.level, fmt::format("{:.0f}", l.measured.cycles), fmt::format("{:.1f}", l.measured.ns),
               l.model_ns > 0 ? fmt::format("{:.0f}", l.model_ns) : "-", l.where});
  table.print();
}

Result<int> calibrate(const Request& request) {
  RIDGE_CLI_TAKE(device, find_device(request.device));
  Calibration measured;
  bench::Latencies chased;
  {
    Progress progress("measuring");
    RIDGE_CLI_TAKE(found, bench::measure_ceilings(device));
    measured = found;
    RIDGE_CLI_TAKE(latencies, bench::measure_latencies(device));
    chased = latencies;
  }
  const std::vector<LevelLatency> latencies = by_level(chased, device);
  RIDGE_CLI_TAKE(path, measured.write());
  DeviceInfo now = device;
  measured.apply(now);
  if (request.json) {
    const Json json = {{"file", path.string()}, {"device", cli::to_json(now)}, {"latencies", to_json(latencies)}};
    std::fputs(dump(json).c_str(), stdout);
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
  print(latencies);
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
