#include "goals.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace ridge::cli::learn {
namespace {

bool is_of_accesses(const Goal& g) {
  return g.what == "sectors" || g.what == "wavefronts" || g.what == "requests" || g.what == "lanes";
}

bool counts(const Goal& g, const Json& access) {
  const std::string space = g.what == "sectors" ? "global" : g.what == "wavefronts" ? "shared" : g.space;
  return (space.empty() || access["space"] == space) && (g.kind.empty() || access["kind"] == g.kind);
}

bool is_launch_of(const Json& launch, std::string_view kernel) {
  const auto name = launch["kernel"].get<std::string>();
  return kernel.empty() || name == kernel || name.starts_with(std::string(kernel) + "<");
}

double product(const Json& dims) { return dims[0].get<double>() * dims[1].get<double>() * dims[2].get<double>(); }

// What all launches of a line come to, of which some blocks of one were watched.
double scale_of(const Json& launch) {
  const double watched = launch["trace"]["watched_blocks"].get<double>();
  return launch["launches"].get<double>() * launch["trace"]["blocks"].get<double>() / std::max(watched, 1.0);
}

double divisor_of(const Goal& g, const Json& launch) {
  const double launches = launch["launches"].get<double>(), threads = product(launch["block"]);
  if (g.of == "launches") return launches;
  if (g.of == "blocks") return launches * product(launch["grid"]);
  if (g.of == "threads") return launches * product(launch["grid"]) * threads;
  if (g.of == "warps")
    return launches * product(launch["grid"]) * static_cast<double>((static_cast<int>(threads) + 31) / 32);
  return 0;
}

// Sums over launches, and over their lines.
class Sum {
 public:
  explicit Sum(const Goal& g) : goal_(g) {}

  void add(const Json& launch) {
    below_ += divisor_of(goal_, launch);
    if (goal_.what == "launches") take(launch["launches"].get<double>(), launch);
    if (goal_.what == "predicted_us") take(launch["predicted_us"].get<double>(), launch);
    if (goal_.what == "dram_bytes" || goal_.what == "l2_bytes")
      take(launch["launches"].get<double>() * launch["prediction"][goal_.what].get<double>(), launch);
    if (is_of_accesses(goal_))
      for (const Json& access : launch["trace"]["accesses"])
        if (counts(goal_, access)) add_access(access, scale_of(launch));
    if (goal_.what == "divergent")
      for (const Json& branch : launch["trace"]["branches"])
        take(scale_of(launch) * branch["divergent"].get<double>(), branch);
  }

  Figure figure() const { return {.value = goal_.of.empty() ? above_ : above_ / std::max(below_, 1.0), .line = line_}; }

 private:
  void add_access(const Json& access, double scale) {
    const bool is_units = goal_.what == "sectors" || goal_.what == "wavefronts";
    const double units = scale * access[is_units ? "units" : goal_.what].get<double>();
    const double least = goal_.of == "least" ? scale * access["least"].get<double>() : 0;
    below_ += least;
    if (goal_.of == "requests") below_ += scale * access["requests"].get<double>();
    take(units, access, units - least);
  }

  void take(double value, const Json& at) { take(value, at, value); }
  void take(double value, const Json& at, double blame) {
    above_ += value;
    if (blame <= most_blame_) return;
    most_blame_ = blame;
    line_ = at;
  }

  const Goal& goal_;
  double above_ = 0, below_ = 0, most_blame_ = -1;
  Json line_;
};

// Figures that are no sums: the launch that is furthest from the goal.
std::optional<double> figure_of_launch(const std::string& what, const Json& launch) {
  if (what == "blocks") return product(launch["grid"]);
  if (what == "threads") return product(launch["block"]);
  if (what == "occupancy" || what == "shared_bytes") return launch["prediction"][what].get<double>();
  return std::nullopt;
}

std::string number(double value) { return fmt::format("{:.3g}", value); }
std::string whole(double value) {
  return value >= 1000 && value < 1e15 ? std::to_string(static_cast<std::int64_t>(value + 0.5)) : number(value);
}

}  // namespace

Goal goal_of(const Json& json) {
  Goal g{.what = json.at("what"),
         .space = json.value("space", ""),
         .kind = json.value("kind", ""),
         .of = json.value("of", ""),
         .at_most = {},
         .at_least = {},
         .goal = json.at("goal"),
         .otherwise = json.at("else")};
  if (json.contains("at_most")) g.at_most = json["at_most"].get<double>();
  if (json.contains("at_least")) g.at_least = json["at_least"].get<double>();
  return g;
}

std::optional<Figure> figure_of(const Goal& g, const Json& run, std::string_view kernel) {
  Sum sum(g);
  std::optional<Figure> furthest;
  bool is_there = false;
  for (const Json& launch : run["launches"]) {
    if (!is_launch_of(launch, kernel) || !launch.contains("trace")) continue;
    is_there = true;
    sum.add(launch);
    const std::optional<double> value = figure_of_launch(g.what, launch);
    if (value && (!furthest || (g.at_least ? *value < furthest->value : *value > furthest->value)))
      furthest = Figure{*value, launch};
  }
  if (!is_there) return std::nullopt;
  return furthest ? furthest : sum.figure();
}

std::string failing_text(const Goal& g, double value) {
  std::string text = g.otherwise;
  if (const std::size_t at = text.find("{value}"); at != text.npos) text.replace(at, 7, whole(value));
  return text + "; the goal: " + g.goal;
}

std::string figure_text(const Goal& g, double value) {
  std::string text;
  for (const std::string& word : {g.space, g.kind, g.what})
    if (!word.empty()) text += (text.empty() ? "" : " ") + word;
  if (!g.of.empty()) text += " / " + g.of;
  text += " " + whole(value);
  if (g.at_most) text += " (at most " + whole(*g.at_most) + ")";
  if (g.at_least) text += " (at least " + whole(*g.at_least) + ")";
  return text;
}

}  // namespace ridge::cli::learn
