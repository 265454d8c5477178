#include "launches.hpp"

#include "html.hpp"

#include <fmt/core.h>

namespace ridge::cli::page {
namespace {

std::string count_text(const Units& u) {
  return u.requests > 0 ? fmt::format("{:.0f} ({:.0f})", u.units, u.least) : "";
}

// The end of a name without what is between brackets, and of whatever comes after it.
std::size_t end_of_name(std::string_view text) { return std::min(text.find_first_of("<("), text.size()); }

}  // namespace

std::string launches_table(const std::vector<LaunchRow>& launches) {
  std::vector<Row> rows;
  for (const LaunchRow& l : launches)
    rows.push_back({{std::to_string(rows.size() + 1)},
                    {l.kernel},
                    {l.at, l.href},
                    {l.us},
                    {l.measured},
                    {l.bound},
                    {count_text(l.sectors)},
                    {count_text(l.wavefronts)},
                    {l.memory},
                    {l.l2},
                    {l.occupancy},
                    {l.waves},
                    {l.grid},
                    {l.block},
                    {l.shared},
                    {l.launches}});
  return table_of_said({"#", "<kernel", "<at", "each", "measured", "<bound by", "sectors (least)", "wavefronts (least)",
                        "memory", "L2 cache", "<occupancy", "waves", "grid", "block", "shared memory", "launched"},
                       rows);
}

std::string short_name(std::string_view function) {
  constexpr std::string_view anonymous = "(anonymous namespace)::";
  if (const std::size_t at = function.rfind(anonymous, function.find('<')); at != function.npos)
    function.remove_prefix(at + anonymous.size());
  const std::string_view name = function.substr(0, end_of_name(function));
  const std::size_t before = name.find_last_of(" :");
  return std::string(before == name.npos ? name : name.substr(before + 1));
}

std::string occupancy_text(double share, std::string_view limiter) {
  return fmt::format("{:.3g} %{}", 100 * share, limiter.empty() ? "" : fmt::format(" ({})", limiter));
}

}  // namespace ridge::cli::page
