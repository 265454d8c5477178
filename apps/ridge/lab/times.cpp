#include "times.hpp"

#include "../table.hpp"
#include "text.hpp"

#include <ridge/lab/measured.hpp>

#include <optional>
#include <utility>

namespace ridge::cli::lab {
namespace {

using ridge::lab::Compared;

template <class T> Json or_null(const std::optional<T>& value) { return value ? Json(*value) : Json(nullptr); }

Json measured_json(const Compared& c) {
  return {{"us", or_null(c.measured_us())}, {"timed", c.us.size()}, {"is_first_alone", c.is_first_alone()}};
}

Json to_json(const Compared& c) {
  return {{"kernel", c.kernel},
          {"given", c.given},
          {"file", c.file},
          {"line", c.line},
          {"grid", c.grid},
          {"block", c.block},
          {"dynamic_shared_bytes", c.shared},
          {"measured", measured_json(c)},
          {"predicted_us", or_null(c.predicted_us)},
          {"bound", c.bound.empty() ? Json(nullptr) : Json(c.bound)},
          {"ratio", or_null(c.ratio())}};
}

Json to_json(const ridge::lab::Error& e) { return {{"median", or_null(e.median)}, {"launches", e.of}}; }

std::string cell(const Json& us) { return us.is_null() ? "-" : time_text(us); }

std::string error_text(const Json& error) {
  const int launches = error["launches"];
  if (launches == 0) return "none to compare";
  return fmt::format("{:.0f} % over {}", 100 * error["median"].get<double>(), launches);
}

// What is to be said of the run; empty: nothing.
std::string remark_on(const Timing& timing) {
  if (timing.run.timed_out) return "time: the program was stopped when its time was over (--seconds)";
  if (timing.run.code > 128) return fmt::format("time: the program was ended by signal {}", timing.run.code - 128);
  if (timing.run.code != 0) return fmt::format("time: the program ended with code {}", timing.run.code);
  return timing.times.empty() ? "time: no launch was timed" : "";
}

}  // namespace

void add_times(Report& report, const Gpu& gpu, const Timing& timing) {
  const std::vector<Compared> all = ridge::lab::compare(report.run, timing.times);
  const ridge::lab::Errors errors = ridge::lab::errors_of(all);
  Json launches = Json::array();
  for (const Compared& c : all) launches.push_back(to_json(c));
  report.times = {{"gpu", gpu.name},
                  {"launches", launches},
                  {"error", {{"memory_bound", to_json(errors.memory_bound)}, {"all", to_json(errors.all)}}}};
  if (std::string remark = remark_on(timing); !remark.empty()) report.remarks.push_back(std::move(remark));
  if (report.run.is_null()) return;
  for (std::size_t i = 0; i < report.run["launches"].size(); ++i)
    if (!all[i].us.empty()) report.run["launches"][i]["measured"] = measured_json(all[i]);
}

void print_times(const Report& report) {
  const Json& times = report.times;
  Table table({{"launch"},
               {"kernel"},
               {"grid x block"},
               {"timed", Align::right},
               {"measured", Align::right},
               {"predicted", Align::right},
               {"ratio", Align::right},
               {"bound by"}},
              "  ");
  for (const Json& l : times["launches"]) {
    const Json& measured = l["measured"];
    const std::string given = l["given"];
    table.add({place_text(l), l["kernel"].get<std::string>() + (given.empty() ? "" : ", " + given),
               dim_text(l["grid"]) + " x " + dim_text(l["block"]),
               std::to_string(measured["timed"].get<std::int64_t>()),
               cell(measured["us"]) + (measured["is_first_alone"].get<bool>() ? " first" : ""), cell(l["predicted_us"]),
               l["ratio"].is_null() ? "-" : fmt::format("{:.2f}", l["ratio"].get<double>()),
               l["bound"].is_null() ? "-" : l["bound"].get<std::string>()});
  }
  say("\nmeasured on {}, beside the prediction{}\n", times["gpu"].get<std::string>(),
      report.run.is_null() ? "" : " for a model of " + report.run["device"].get<std::string>());
  table.print();
  say("  measured: the median of a line's launches of one shape without the first, which may be cold; 'first': the "
      "only "
      "one\n  ratio: predicted / measured. The median of |ratio - 1|: {}; of those bound by DRAM or the L2 cache: {}\n",
      error_text(times["error"]["all"]), error_text(times["error"]["memory_bound"]));
}

}  // namespace ridge::cli::lab
