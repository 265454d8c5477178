// ridge devices: what is here, and the models that plans can be made for.
#include "commands.hpp"
#include "json.hpp"
#include "table.hpp"
#include "terminal.hpp"

#include <ridge/core/device.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <vector>

namespace ridge::cli {
namespace {

std::string number_or_dash(double value, const char* pattern) {
  return value > 0 ? fmt::format(fmt::runtime(pattern), value) : "-";
}

std::vector<Column> device_columns() {
  return {{"name"},
          {"cc", Align::right},
          {"SMs", Align::right},
          {"warp", Align::right},
          {"memory GB", Align::right},
          {"copy GB/s", Align::right},
          {"fp32 TFLOP/s", Align::right},
          {"fp16 TFLOP/s", Align::right}};
}

std::vector<std::string> device_cells(const DeviceInfo& d) {
  return {d.name,
          d.cc > 0 ? fmt::format("{}.{}", d.cc / 10, d.cc % 10) : "-",
          std::to_string(d.sms),
          std::to_string(d.warp),
          fmt::format("{:.0f}", static_cast<double>(d.memory_bytes) * 1e-9),
          number_or_dash(d.memory_gbs, "{:.0f}"),
          number_or_dash(d.fp32_tflops, "{:.3g}"),
          number_or_dash(d.fp16_tflops, "{:.3g}")};
}

// Where the figures of each come from.
void print_sources(const std::vector<DeviceInfo>& list, bool by_id) {
  Table sources({{""}, {""}}, "    ");
  for (const DeviceInfo& d : list) {
    sources.add({by_id ? d.id_text() : d.name, d.source});
    if (!d.measured.empty()) sources.add({"", "measured here: " + d.measured});
  }
  std::puts("  figures from");
  sources.print_rows();
}

Result<int> show(bool json) {
  std::vector<DeviceInfo> here{cpu()};
  std::string no_gpu;
  for (int i = 0; i < device_count(); ++i) {
    auto gpu = device(i);
    if (gpu) here.push_back(*gpu);
    else no_gpu = gpu.error().message();
  }
  if (device_count() == 0) no_gpu = device(0).error().message();

  if (json) {
    Json devices = Json::array(), models = Json::array();
    for (const DeviceInfo& d : here) devices.push_back(to_json(d));
    for (const DeviceInfo& d : device_models()) models.push_back(to_json(d));
    for (Json& model : models) model.erase("id");
    std::fputs(
        dump({{"devices", devices}, {"no_gpu", no_gpu.empty() ? Json(nullptr) : Json(no_gpu)}, {"models", models}})
            .c_str(),
        stdout);
    return exit_done;
  }
  std::puts("Devices of this machine (--device)");
  auto columns = device_columns();
  columns.insert(columns.begin(), {"id"});
  Table devices(columns, "  ");
  for (const DeviceInfo& d : here) {
    auto cells = device_cells(d);
    cells.insert(cells.begin(), d.id_text());
    devices.add(std::move(cells));
  }
  devices.print();
  print_sources(here, true);
  if (!no_gpu.empty()) say("  no GPU: {}\n", no_gpu);
  std::puts("\nModels that plans can be made for (ridge explain CASE --on MODEL)");
  Table models(device_columns(), "  ");
  for (const DeviceInfo& d : device_models()) models.add(device_cells(d));
  models.print();
  print_sources({device_models().begin(), device_models().end()}, false);
  return exit_done;
}

}  // namespace

void add_devices(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("devices", "What is here: the CPU runtime, GPUs; and the models known by name");
  command->add_flag("--json", *json, "Print JSON");
  command->callback([json, &action] { action = [json] { return show(*json); }; });
}

}  // namespace ridge::cli
