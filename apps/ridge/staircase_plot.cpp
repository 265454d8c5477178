#include "axes.hpp"
#include "legend.hpp"
#include "staircase.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace ridge::cli {
namespace {

using Line = std::vector<std::pair<double, double>>;

std::string hint_of(const Stair& s) {
  std::string hint = fmt::format("{}: {}, {:.2f} us", s.size, s.plan.variant, s.plan.predicted_us);
  if (s.has_grid())
    hint +=
        fmt::format(", {:.3g} waves, the last {:.0f} % full", s.plan.analysis.waves, 100 * s.plan.analysis.tail_share);
  return hint;
}

// The variants in the order of the sizes that they are chosen for: a marker each.
std::vector<std::string> variants_of(const std::vector<Stair>& stairs) {
  std::vector<std::string> variants;
  for (const Stair& s : stairs)
    if (s.refusal.empty() && std::ranges::find(variants, s.plan.variant) == variants.end())
      variants.push_back(s.plan.variant);
  return variants;
}

Marker marker_of(const std::vector<std::string>& variants, const std::string& variant) {
  return static_cast<Marker>((std::ranges::find(variants, variant) - variants.begin()) % marker_count);
}

}  // namespace

std::string staircase_svg(const Staircase& staircase) {
  constexpr std::size_t most_marked = 80;  // more markers than that would hide the line
  const auto& [case_text, device, range, stairs] = staircase;
  double highest = 0;
  for (const Stair& s : stairs) highest = std::max({highest, s.plan.predicted_us, s.plan.least_us});
  const LinearAxes axes(desk, static_cast<double>(range.from), static_cast<double>(range.to), 0, highest);
  const std::string title = case_text + " on " + device.name + ", predicted";
  Svg svg(desk.right() + legend_width, desk.bottom() + bottom_margin, title);
  svg.text(desk.left, 26, title, Anchor::start, 15);
  axes.draw(svg, range.name, "us");

  Line predicted, least;
  for (const Stair& s : stairs) {
    if (!s.refusal.empty()) continue;
    const double x = axes.x(static_cast<double>(s.size));
    predicted.emplace_back(x, axes.y(s.plan.predicted_us));
    least.emplace_back(x, axes.y(s.plan.least_us));
  }
  svg.polyline(least, "stroke-width=\"1.6\" stroke-dasharray=\"8 4\"");
  svg.text(least.back().first, least.back().second + 32, "the least time", Anchor::end);
  svg.polyline(predicted, "stroke-width=\"0.8\"");

  const std::vector<std::string> variants = variants_of(stairs);
  Legend legend(svg, desk);
  const Stair* before = nullptr;
  for (const Stair& s : stairs) {
    if (!s.refusal.empty()) continue;
    const bool marked = stairs.size() <= most_marked || !before || before->plan.variant != s.plan.variant;
    const Marker marker = marker_of(variants, s.plan.variant);
    if (marked) svg.marker(marker, axes.x(static_cast<double>(s.size)), axes.y(s.plan.predicted_us), true, hint_of(s));
    legend.add(s.plan.variant, marker, true);
    before = &s;
  }
  return svg.str();
}

}  // namespace ridge::cli
