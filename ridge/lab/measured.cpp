#include <ridge/lab/measured.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ridge::lab {
namespace {

using Json = nlohmann::ordered_json;

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Compared launch_of(const Json& json) {
  return {.kernel = json.at("kernel"),
          .file = json.at("file"),
          .line = json.at("line"),
          .grid = json.at("grid"),
          .block = json.at("block"),
          .shared = json.at("dynamic_shared_bytes"),
          .given = json.value("given", ""),
          .numbers = json.value("numbers", std::vector<std::int64_t>()),
          .us = {},
          .predicted_us = {},
          .bound = {}};
}

bool is_same(const Compared& a, const Compared& b) {
  return a.line == b.line && a.kernel == b.kernel && a.file == b.file && a.grid == b.grid && a.block == b.block &&
         a.shared == b.shared;
}

// Launches of one line and shape may be several records, each of which has the numbers of its own.
bool has(const Compared& record, std::int64_t number) {
  return record.numbers.empty() || std::ranges::find(record.numbers, number) != record.numbers.end();
}

struct Timed {
  Compared launch;
  double us = 0;
  std::int64_t number = 0;  // among those of its line and shape
};

// A program may have been ended within a line, and may itself have written to the file.
std::optional<Timed> timed_in(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    return Timed{launch_of(json), json.at("us").get<double>(), json.value("number", std::int64_t(0))};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

Error error_of(const std::vector<Compared>& all, bool memory_bound_alone) {
  std::vector<double> errors;
  for (const Compared& c : all)
    if (const auto ratio = c.ratio(); ratio && (c.is_memory_bound() || !memory_bound_alone))
      errors.push_back(std::abs(*ratio - 1));
  return {.median = median(errors), .of = static_cast<int>(errors.size())};
}

}  // namespace

std::optional<double> Compared::measured_us() const {
  return median({us.size() > 1 ? us.begin() + 1 : us.begin(), us.end()});
}

std::optional<double> Compared::ratio() const {
  const std::optional<double> measured = measured_us();
  if (!predicted_us || !measured || *measured <= 0) return std::nullopt;
  return *predicted_us / *measured;
}

std::vector<Compared> compare(const Json& run, std::string_view times) {
  std::vector<Compared> all;
  if (!run.is_null())
    for (const Json& launch : run.at("launches")) {
      all.push_back(launch_of(launch));
      if (!launch.contains("prediction")) continue;
      all.back().predicted_us = launch["prediction"]["us"];
      all.back().bound = launch["prediction"]["bound"];
    }
  for (std::size_t begin = 0; begin < times.size();) {
    const std::size_t end = std::min(times.find('\n', begin), times.size());
    auto timed = timed_in(times.substr(begin, end - begin));
    begin = end + 1;
    if (!timed) continue;
    auto found = std::ranges::find_if(
        all, [&](const Compared& c) { return is_same(c, timed->launch) && has(c, timed->number); });
    if (found == all.end()) found = all.insert(found, std::move(timed->launch));
    found->us.push_back(timed->us);
  }
  return all;
}

Errors errors_of(const std::vector<Compared>& all) {
  return {.memory_bound = error_of(all, true), .all = error_of(all, false)};
}

}  // namespace ridge::lab
