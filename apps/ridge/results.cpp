#include "results.hpp"

#include "json.hpp"

#include <ridge/core/device_query.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>

namespace ridge::cli {

static Status no_results(const std::string& path, const std::string& why) {
  return Status::error(Code::invalid_argument, "'" + path + "' holds no results of `ridge bench --json`: " + why);
}

// ---- what JSON holds, whatever it is --------------------------------------------------------------------------------

static const Json* member(const Json& of, const char* key) {
  const auto found = of.is_object() ? of.find(key) : of.end();
  return found == of.end() ? nullptr : &*found;
}

static std::optional<std::string> text_in(const Json& of, const char* key) {
  const Json* value = member(of, key);
  return value && value->is_string() ? std::optional(value->get<std::string>()) : std::nullopt;
}

// Numbers of things that were measured. Beyond, what is computed of them leaves the range of numbers.
static std::optional<double> number_in(const Json& of, const char* key) {
  const Json* value = member(of, key);
  if (!value || !value->is_number()) return std::nullopt;
  const double number = value->get<double>();
  return std::fabs(number) <= 1e15 ? std::optional(number) : std::nullopt;
}

static std::optional<double> time_in(const Json& of) {
  const auto us = number_in(of, "us");
  return us && *us >= 1e-6 ? us : std::nullopt;
}

constexpr std::string_view no_time = "has no time 'us' from 1e-6 to 1e15 microseconds";

// One measurement; the error is a clause that follows its name.
static Result<ResultRow> row_of(const Json& m) {
  const auto lacks = [](std::string_view what) { return Status::error(Code::invalid_argument, std::string(what)); };
  const auto case_text = text_in(m, "case"), variant = text_in(m, "variant");
  const Json* chosen = member(m, "chosen");
  const auto us = time_in(m);
  if (!case_text) return lacks("has no text 'case'");
  if (!variant) return lacks("has no text 'variant'");
  if (!chosen || !chosen->is_boolean()) return lacks("does not say whether it was 'chosen'");
  if (!us) return lacks(no_time);
  ResultRow row;
  row.case_text = *case_text;
  row.variant = *variant;
  row.chosen = chosen->get<bool>();
  row.us = *us;
  row.noise = number_in(m, "noise");
  // What files written otherwise than by the command leave out.
  row.gbs = number_in(m, "gbs").value_or(0);
  row.tflops = number_in(m, "tflops").value_or(0);
  row.predicted_us = number_in(m, "predicted_us").value_or(0);
  row.copy_share = number_in(m, "copy_share").value_or(0);
  const Json* peers = member(m, "peers");
  if (!peers || peers->is_null()) return row;
  if (!peers->is_array()) return lacks("has 'peers' that are not a list");
  for (const Json& peer : *peers) {
    const auto name = text_in(peer, "name");
    const auto peer_us = time_in(peer);
    if (!name) return lacks("has a peer without a text 'name'");
    if (!peer_us) return lacks("has a peer that " + std::string(no_time));
    row.peers.push_back({*name, *peer_us});
  }
  return row;
}

Result<Results> parse_results(const std::string& path, std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return no_results(path, "it is not JSON");
  const auto device = text_in(json, "device");
  if (!device) return no_results(path, "it has no text 'device'");
  const Json* measurements = member(json, "measurements");
  if (!measurements || !measurements->is_array()) return no_results(path, "it has no list 'measurements'");
  Results results;
  results.path = path;
  results.device = *device;
  results.driver = text_in(json, "driver").value_or("");
  results.commit = text_in(json, "commit").value_or("");
  results.date = text_in(json, "date").value_or("");
  for (std::size_t i = 0; i < measurements->size(); ++i) {
    const Json& m = (*measurements)[i];
    if (member(m, "error")) continue;
    auto row = row_of(m);
    if (!row) return no_results(path, "measurement " + std::to_string(i) + " " + std::string(row.error().message()));
    results.rows.push_back(std::move(*row));
  }
  if (results.rows.empty()) return no_results(path, "nothing in it was measured");
  return results;
}

Result<Results> read_results(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char part[4096];
  while (file.read(part, sizeof part) || file.gcount() > 0) text.append(part, static_cast<std::size_t>(file.gcount()));
  if (!file.eof() || file.bad())
    return Status::error(Code::io, "results file '" + path + "' cannot be read: " + std::strerror(errno));
  return parse_results(path, text);
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
  if (const DeviceInfo* const model = model_of_name(results.device)) return *model;
  return device_model(results.device);  // for the sentence that names the models
}

}  // namespace ridge::cli
