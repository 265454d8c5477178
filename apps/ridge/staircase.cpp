#include "staircase.hpp"

#include "table.hpp"
#include "terminal.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace ridge::cli {
namespace {

constexpr std::int64_t most_stairs = 10'000;  // a slip in the range should not take minutes

bool read_whole(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0;
}

// `from`, `to` and `step`, of which the last may be missing.
bool read_range(std::string_view text, SizeRange& range) {
  const std::size_t first = text.find(':'), second = text.find(':', first + 1);
  if (first == std::string_view::npos) return false;
  const bool stepped = second != std::string_view::npos;
  return read_whole(text.substr(0, first), range.from) &&
         read_whole(text.substr(first + 1, stepped ? second - first - 1 : second), range.to) &&
         (!stepped || read_whole(text.substr(second + 1), range.step));
}

// The case with this size, given or not.
check::Case with_size(check::Case c, const std::string& name, std::int64_t size) {
  const auto given = std::ranges::find(c.dims, name, &std::pair<std::string, std::int64_t>::first);
  if (given != c.dims.end()) given->second = size;
  else c.dims.emplace_back(name, size);
  return c;
}

Result<Explanation> plan_of(const std::string& case_text, const DeviceInfo& on) {
  RIDGE_CLI_TAKE(known, find_case(case_text));
  RIDGE_CLI_TAKE(device, device_of(known.c, on));
  return explain_case(known, device);
}

Stair stair_of(const check::Case& c, const SizeRange& range, std::int64_t size, const DeviceInfo& on) {
  Stair stair{.size = size, .case_text = with_size(c, range.name, size).text(), .refusal = {}, .plan = {}};
  auto plan = plan_of(stair.case_text, on);
  if (plan) stair.plan = std::move(*plan);
  else stair.refusal = plan.error().message();
  return stair;
}

std::string share_text(double share) { return fmt::format("{:.0f} %", 100 * share); }

std::vector<std::string> cells_of(const Stair& s) {
  if (!s.refusal.empty()) return {std::to_string(s.size), "no: " + s.refusal};
  const Analysis& a = s.plan.analysis;
  std::vector<std::string> cells{std::to_string(s.size), s.plan.variant, fmt::format("{:.2f}", s.plan.predicted_us),
                                 share_text(s.of_roof())};
  if (!s.has_grid()) cells.insert(cells.end(), 4, "-");
  else
    for (const std::string& cell : {std::to_string(a.blocks), fmt::format("{:.3g}", a.waves), share_text(a.tail_share),
                                    share_text(a.tile_efficiency)})
      cells.push_back(cell);
  return cells;
}

constexpr double worth_saying = 0.01;  // the least step that is named

// The two neighbours between which the time rises most.
struct Rise {
  const Stair *before = nullptr, *after = nullptr;
  double times() const { return after->plan.predicted_us / before->plan.predicted_us; }
};
std::optional<Rise> highest_rise(const std::vector<Stair>& stairs) {
  std::optional<Rise> highest;
  for (std::size_t i = 1; i < stairs.size(); ++i) {
    const Rise rise{&stairs[i - 1], &stairs[i]};
    if (!rise.before->refusal.empty() || !rise.after->refusal.empty() || rise.before->plan.predicted_us <= 0) continue;
    if (!highest || rise.times() > highest->times()) highest = rise;
  }
  return highest;
}

Json stair_json(const Stair& s) {
  if (!s.refusal.empty()) return {{"size", s.size}, {"case", s.case_text}, {"refusal", s.refusal}};
  const Analysis& a = s.plan.analysis;
  const auto of_grid = [&](auto value) { return s.has_grid() ? Json(value) : Json(nullptr); };
  return {{"size", s.size},
          {"case", s.case_text},
          {"variant", s.plan.variant},
          {"bound", s.plan.bound},
          {"least_us", s.plan.least_us},
          {"predicted_us", s.plan.predicted_us},
          {"roof_share", s.of_roof()},
          {"blocks", of_grid(a.blocks)},
          {"blocks_per_multiprocessor", of_grid(a.blocks_per_sm)},
          {"waves", of_grid(a.waves)},
          {"tail_share", of_grid(a.tail_share)},
          {"wave_efficiency", of_grid(a.wave_efficiency)},
          {"tile_efficiency", of_grid(a.tile_efficiency)}};
}

}  // namespace

Result<SizeRange> parse_size_range(const std::string& text) {
  SizeRange range;
  const std::size_t equals = std::min(text.find('='), text.size());
  range.name = text.substr(0, equals);
  const bool read =
      !range.name.empty() && equals < text.size() && read_range(std::string_view(text).substr(equals + 1), range);
  if (!read || range.to < range.from || range.step < 1 || (range.to - range.from) / range.step >= most_stairs)
    return Status::invalid("survey", "--sweep", "'" + text + "'",
                           fmt::format("SIZE=FROM:TO or SIZE=FROM:TO:STEP with whole numbers, as m=1024:4096:64, of at "
                                       "most {} sizes",
                                       most_stairs));
  return range;
}

Result<Staircase> climb(const std::string& case_text, const SizeRange& range, const DeviceInfo& on) {
  RIDGE_CLI_TAKE(c, check::Case::parse(case_text));
  Staircase staircase{.case_text = c.text(), .device = on, .range = range, .stairs = {}};
  for (std::int64_t i = 0; i <= (range.to - range.from) / range.step; ++i)
    staircase.stairs.push_back(stair_of(c, range, range.from + i * range.step, on));
  if (std::ranges::all_of(staircase.stairs, [](const Stair& s) { return !s.refusal.empty(); }))
    return Status::error(Code::unsupported, staircase.stairs[0].refusal);
  return staircase;
}

void print(const Staircase& staircase, std::FILE* to) {
  say_to(to, "{} on {}, over {}\n", staircase.case_text, staircase.device.name, staircase.range.name);
  Table table({{staircase.range.name, Align::right},
               {"variant"},
               {"predicted us", Align::right},
               {"of the roof", Align::right},
               {"blocks", Align::right},
               {"waves", Align::right},
               {"last wave", Align::right},
               {"tiles", Align::right}},
              "  ");
  for (const Stair& stair : staircase.stairs) table.add(cells_of(stair));
  table.print(to);
  const auto rise = highest_rise(staircase.stairs);
  if (!rise || rise->times() < 1 + worth_saying) return;
  say_to(to, "the highest step: {} from {} to {} takes {:.0f} % longer\n", staircase.range.name, rise->before->size,
         rise->after->size, 100 * (rise->times() - 1));
}

Json to_json(const Staircase& staircase) {
  const SizeRange& range = staircase.range;
  Json stairs = Json::array();
  for (const Stair& stair : staircase.stairs) stairs.push_back(stair_json(stair));
  return {{"case", staircase.case_text},
          {"device", staircase.device.name},
          {"sweep", {{"size", range.name}, {"from", range.from}, {"to", range.to}, {"step", range.step}}},
          {"stairs", stairs}};
}

}  // namespace ridge::cli
