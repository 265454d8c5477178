// ridge devices: what is here, the models that plans can be made for, and which rows of the tables they get.
#include "commands.hpp"
#include "json.hpp"
#include "table.hpp"
#include "terminal.hpp"

#include <ridge/check/reach.hpp>
#include <ridge/core/device.hpp>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <set>
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

// ---- rows ----------------------------------------------------------------------------------------------------------

// Where the instructions of a row are.
enum class Needs { nothing, ampere, ada, hopper, unknown };  // unknown: no case tells
constexpr std::string_view needs_names[] = {"any GPU", "8.0 on", "8.9 on", "9.0 alone"};

Needs needs_of(const check::Reach& row) {
  const auto fits = [&](int cc) {
    return row
        .fits[static_cast<std::size_t>(std::ranges::find(check::architectures, cc) - check::architectures.begin())];
  };
  return fits(75)   ? Needs::nothing
         : fits(80) ? Needs::ampere
         : fits(89) ? Needs::ada
         : fits(90) ? Needs::hopper
                    : Needs::unknown;
}

// What the operators of a family have; some of them share rows.
struct FamilyRows {
  std::vector<std::pair<std::string, Needs>> rows;  // in the table's order
  std::map<std::string, std::set<std::string>> on;  // rows by model
};

std::vector<std::string_view> models_of_rows() { return {"T4", "A100", "A10", "L40S", "H200", "B200", "RTX5090"}; }

FamilyRows rows_of_family(std::string_view family) {
  FamilyRows result;
  for (const check::CaseBook* book : check::case_books()) {
    if ((*find_op(book->op))->family != family) continue;
    for (const check::Reach& reach : check::reach_of(*book)) {
      const Needs needs = needs_of(reach);
      const auto known = std::ranges::find(result.rows, reach.row, [](const auto& row) { return row.first; });
      if (known == result.rows.end()) result.rows.emplace_back(reach.row, needs);
      else known->second = std::min(known->second, needs);
    }
    for (const std::string_view model : models_of_rows())
      for (std::string& row : check::rows_on(*book, *device_model(model)))
        result.on[std::string(model)].insert(std::move(row));
  }
  return result;
}

std::vector<std::string_view> families() {
  std::vector<std::string_view> names;
  for (const OpInfo* op : ops())
    if (std::ranges::find(names, op->family) == names.end()) names.push_back(op->family);
  return names;
}

// For each family how many rows need what, and how many fit on a model of each architecture; then the names of those
// that do not run on any GPU.
Result<int> show_rows() {
  std::map<std::string_view, std::future<FamilyRows>> under_way;  // thousands of plans each
  for (const std::string_view family : families())
    under_way[family] = std::async(std::launch::async, rows_of_family, family);
  std::map<std::string_view, FamilyRows> all;
  for (auto& [family, rows] : under_way) all[family] = rows.get();
  std::vector<Column> columns{{"family"}, {"rows", Align::right}};
  for (const std::string_view name : needs_names) columns.push_back({std::string(name), Align::right});
  for (const std::string_view model : models_of_rows()) columns.push_back({std::string(model), Align::right});
  Table counts(columns, "");
  for (const std::string_view family : families()) {
    const FamilyRows& of = all[family];
    std::vector<std::string> cells{std::string(family), std::to_string(of.rows.size())};
    for (int needs = 0; needs < static_cast<int>(std::size(needs_names)); ++needs)
      cells.push_back(std::to_string(
          std::ranges::count(of.rows, static_cast<Needs>(needs), [](const auto& row) { return row.second; })));
    for (const std::string_view model : models_of_rows())
      cells.push_back(std::to_string(of.on.at(std::string(model)).size()));
    counts.add(std::move(cells));
  }
  counts.print();
  for (const Needs needs : {Needs::ampere, Needs::ada, Needs::hopper}) {
    fmt::print("\n{}\n", needs_names[static_cast<int>(needs)]);
    for (const std::string_view family : families()) {
      std::string names;
      for (const auto& [row, of] : all[family].rows)
        if (of == needs) names += " " + row;
      if (!names.empty()) fmt::print("  {}:{}\n", family, names);
    }
  }
  return exit_done;
}

}  // namespace

void add_devices(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("devices", "What is here: the CPU runtime, GPUs; and the models known by name");
  auto rows = std::make_shared<bool>(false);
  auto* as_json = command->add_flag("--json", *json, "Print JSON");
  command->add_flag("--rows", *rows, "Print which rows of the tables each of NVIDIA's architectures gets")
      ->excludes(as_json);
  command->callback([json, rows, &action] { action = [json, rows] { return *rows ? show_rows() : show(*json); }; });
}

}  // namespace ridge::cli
