#include "results.hpp"

#include "json.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

namespace ridge::cli {

static Status no_results(const std::string& path, const std::string& why) {
  return Status::error(Code::invalid_argument, "'" + path + "' holds no results of `ridge bench --json`: " + why);
}

Result<Results> read_results(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  if (!file || !(text << file.rdbuf()))
    return Status::error(Code::io, "results file '" + path + "' cannot be read: " + std::strerror(errno));
  try {
    const Json json = Json::parse(text.str());
    const auto text_or_empty = [&](const char* key) {
      return json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : std::string();
    };
    // What files written otherwise than by the command leave out.
    const auto number_or_zero = [](const Json& from, const char* key) {
      return from.contains(key) && from[key].is_number() ? from[key].get<double>() : 0.0;
    };
    Results results{path, json.at("device"), text_or_empty("driver"), text_or_empty("commit"), text_or_empty("date"),
                    {}};
    for (const Json& m : json.at("measurements")) {
      if (m.contains("error")) continue;
      ResultRow row;
      row.case_text = m.at("case");
      row.variant = m.at("variant");
      row.chosen = m.at("chosen");
      row.us = m.at("us");
      if (m.contains("noise") && m["noise"].is_number()) row.noise = m["noise"];
      row.gbs = number_or_zero(m, "gbs");
      row.tflops = number_or_zero(m, "tflops");
      row.predicted_us = number_or_zero(m, "predicted_us");
      row.copy_share = number_or_zero(m, "copy_share");
      if (m.contains("peers"))
        for (const Json& peer : m["peers"]) row.peers.push_back({peer.at("name"), peer.at("us")});
      if (!(row.us > 0)) return no_results(path, "a time of " + row.case_text + " is not above zero");
      results.rows.push_back(std::move(row));
    }
    if (results.rows.empty()) return no_results(path, "nothing in it was measured");
    return results;
  } catch (const Json::exception& error) {
    return no_results(path, error.what());
  }
}

namespace {
struct CaseRows {
  const ResultRow *chosen = nullptr, *fastest = nullptr;
};
std::map<std::string_view, CaseRows> rows_by_case(const std::vector<ResultRow>& rows) {
  std::map<std::string_view, CaseRows> cases;
  for (const ResultRow& row : rows) {
    CaseRows& of = cases[row.case_text];
    if (row.chosen) of.chosen = &row;
    if (!of.fastest || row.us < of.fastest->us) of.fastest = &row;
  }
  return cases;
}
}  // namespace

std::vector<BeatenChoice> beaten_choices(const std::vector<ResultRow>& rows) {
  std::vector<BeatenChoice> beaten;
  for (const auto& [text, of] : rows_by_case(rows)) {
    if (!of.chosen) continue;
    const double least = of.chosen->us * (1 - of.chosen->noise.value_or(0));
    if (of.fastest->us * (1 + of.fastest->noise.value_or(0)) < least)
      beaten.push_back({std::string(text), of.chosen->variant, of.fastest->variant, of.chosen->us, of.fastest->us});
  }
  std::ranges::stable_sort(beaten, std::greater(), &BeatenChoice::slower);
  return beaten;
}

double choices_over_fastest(const std::vector<ResultRow>& rows) {
  double logs = 0;
  int count = 0;
  for (const auto& [text, of] : rows_by_case(rows))
    if (of.chosen) logs += std::log(of.chosen->us / of.fastest->us), ++count;
  return count > 0 ? std::exp(logs / count) : 1;
}

Result<DeviceInfo> model_of_results(const Results& results) {
  if (const DeviceInfo runtime = cpu(); runtime.name == results.device) return runtime;
  for (const DeviceInfo& model : device_models())
    if (results.device.find(model.name) != std::string::npos) return model;
  return device_model(results.device);  // for the sentence that names the models
}

}  // namespace ridge::cli
